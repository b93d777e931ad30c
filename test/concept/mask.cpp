// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <concept/byte_mask.hpp>

#include <pactrain/host/backend.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/block_mask.hpp>
#include <pactrain/mask/full_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/mask/mask.hpp>
#include <pactrain/mask/n_of_m_mask.hpp>

#include <doctest/doctest.h>

#include <cstddef>

using namespace pactrain;

static_assert(MaskRepresentation<BitMask, HostBackend>);
static_assert(MaskRepresentation<IndexMask, HostBackend>);
static_assert(MaskRepresentation<BlockMask<1>, HostBackend>);
static_assert(MaskRepresentation<BlockMask<128>, HostBackend>);
static_assert(MaskRepresentation<NofMMask<2, 4>, HostBackend>);
static_assert(MaskRepresentation<NofMMask<1, 16>, HostBackend>);
static_assert(MaskRepresentation<FullMask, HostBackend>);
static_assert(MaskRepresentation<example::ByteMask, HostBackend>);

namespace {

/// Counts in int: a near-miss, which would end at 2^31 entries.
struct ShortMask {
  template <Executor E>
  class on : public BitMask::on<E> {
   public:
    [[nodiscard]] int count() const { return static_cast<int>(BitMask::on<E>::count()); }
  };
};
static_assert(!MaskRepresentation<ShortMask, HostBackend>);
static_assert(!MaskRepresentation<int, HostBackend>);

}  // namespace

TEST_CASE("codes of groups are as short as they can be, and come back") {
  static_assert(kernel::GroupCode<2, 4>::bits == 4);
  static_assert(kernel::GroupCode<1, 4>::bits == 2);
  static_assert(kernel::GroupCode<1, 16>::bits == 4);
  static_assert(kernel::GroupCode<4, 8>::bits == 8);
  static_assert(kernel::GroupCode<5, 64>::bits == 30);
  using Code = kernel::GroupCode<2, 10>;
  for (std::size_t a = 0; a < 10; ++a) {
    for (std::size_t b = 0; b < 10; ++b) {
      const kernel::Word set = kernel::Word{1} << a | kernel::Word{1} << b;
      CHECK(Code::encode(set) < kernel::Word{1} << Code::bits);
      CHECK(Code::decode(Code::encode(set)) == set);
    }
  }
}

TEST_CASE("indices are as narrow as the size allows") {
  static_assert(kernel::index_width(0) == 2);
  static_assert(kernel::index_width(65536) == 2);
  static_assert(kernel::index_width(65537) == 4);
  static_assert(kernel::index_width(std::size_t{1} << 32) == 4);
  static_assert(kernel::index_width((std::size_t{1} << 32) + 1) == 8);
}
