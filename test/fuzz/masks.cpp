// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks from bytes: positions that travelled, and saved masks whose checksum was made to fit. They
// are refused, or keep no more than there is and agree with themselves.
#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/host/executor.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/block_mask.hpp>
#include <pactrain/mask/bloom_mask.hpp>
#include <pactrain/mask/full_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/mask/n_of_m_mask.hpp>

#include <fuzz/input.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

HostExecutor host;

/// A bool for every entry that is visited.
struct Mark {
  std::vector<bool>* marks;
  void operator()(std::size_t slot, std::size_t position) const {
    must(position < marks->size() && slot < marks->size(), "what is visited is in the model");
    (*marks)[position] = true;
  }
};

template <class MaskOn>
void check(MaskOn& mask, std::size_t n) {
  must(mask.count() <= n, "a mask keeps no more than there is");
  std::vector<bool> marks(n);
  mask.visit(host, 0, n, Mark{&marks});
  std::size_t kept = 0;
  const auto keep = mask.keep();
  for (std::size_t i = 0; i < n; ++i) {
    must(keep(i) == marks[i], "what is kept is visited");
    kept += marks[i] ? 1 : 0;
  }
  must(kept == mask.count(), "and counted");
  must(mask.slot(host, n) == kept, "and has its slots");
}

template <class M>
void receive(const Model& model, std::span<const std::byte> bytes) {
  typename M::template on<HostExecutor> mask;
  std::vector<std::uint64_t> aligned(bytes.size() / 8 + 1);
  const std::span<std::byte> wire = std::as_writable_bytes(std::span(aligned)).first(bytes.size());
  std::copy(bytes.begin(), bytes.end(), wire.begin());
  try {
    mask.receive(host, model, std::span<const std::byte>(wire));
  } catch (const BackendError&) {
    return;
  }
  check(mask, model.size());
}

template <class M>
void load(const Model& model, std::span<const std::byte> bytes) {
  typename M::template on<HostExecutor> mask;
  std::istringstream in(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  try {
    Reader reader(in);
    mask.load(host, model, reader);
  } catch (const StateError&) {
    return;
  }
  check(mask, model.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  const std::size_t kind = input.below(9);
  Model model;
  const std::size_t parts = 1 + input.below(3);
  for (std::size_t i = 0; i < parts; ++i) model.add("p" + std::to_string(i), input.below(90), 0);
  const std::size_t head = 4 + 2 * parts;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(head < size ? head : size);
  switch (kind) {
    case 0:
      receive<BitMask>(model, bytes);
      break;
    case 1:
      receive<IndexMask>(model, bytes);
      break;
    case 2:
      receive<BlockMask<4>>(model, bytes);
      break;
    case 3:
      receive<BloomMask>(model, bytes);
      break;
    case 4:
      load<BitMask>(model, bytes);
      break;
    case 5:
      load<IndexMask>(model, bytes);
      break;
    case 6:
      load<BlockMask<4>>(model, bytes);
      break;
    case 7:
      load<NofMMask<2, 4>>(model, bytes);
      break;
    default:
      load<FullMask>(model, bytes);
  }
  return 0;
}
