// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks that are united with, or led by, what another rank sends and should not.
#include <host/world.hpp>

#include <pactrain/algorithm/agreement.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/host/backend.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

constexpr std::size_t entries = 70;

Model model_of_one() {
  Model model;
  model.add("p", entries, 0);
  return model;
}
struct Third {
  bool operator()(std::size_t i) const { return i % 3 == 0; }
};
template <class MaskOn>
void fill(MaskOn& mask, HostExecutor& exec) {
  static const Model model = model_of_one();
  mask.begin(exec, model);
  mask.assign(exec, Piece<const float>{0, 0, 0, entries, nullptr}, Third{});
  mask.end(exec);
}

/// `honest(backend)` on rank 0, `other(backend)` on rank 1, which sends what it likes.
template <class Honest, class Other>
void with_peer(Honest honest, Other other) {
  on_threads(
      2,
      [&](HostBackend& backend) {
        if (backend.communicator().rank() == 0) honest(backend);
        else other(backend);
      },
      patience);
}
template <class T>
void send_to_all(HostBackend& backend, const std::vector<T>& mine,
                 const std::vector<std::size_t>& counts) {
  std::vector<T> all(counts[0] + counts[1]);
  all_gather(backend.executor(), backend.communicator(), std::span<const T>(mine),
             std::span<const std::size_t>(counts), std::span(all));
}

}  // namespace

TEST_CASE("bits beyond the end, of another rank, are no entries") {
  const auto check = [](HostBackend& backend, auto exchange) {
    BitMask::on<HostExecutor> mask;
    fill(mask, backend.executor());
    exchange(mask);
    CHECK(mask.count() == entries);
    CHECK(mask.slot(backend.executor(), entries) == entries);
  };
  const std::vector<kernel::Word> all(2, ~kernel::Word{0});
  with_peer(
      [&](HostBackend& backend) {
        check(backend, [&](auto& mask) { mask.unite(backend.executor(), backend.communicator()); });
      },
      [&](HostBackend& backend) { send_to_all(backend, all, {2, 2}); });
  with_peer(
      [&](HostBackend& backend) {
        check(backend,
              [&](auto& mask) { mask.broadcast(backend.executor(), backend.communicator(), 1); });
      },
      [&](HostBackend& backend) {
        auto sent = all;
        broadcast(backend.executor(), backend.communicator(), std::span(sent), 1);
      });
}

TEST_CASE("a refusal of another rank that is longer than any is no reason to ask for memory") {
  with_peer(
      [](HostBackend& backend) {
        CHECK_THROWS_AS(gather_trouble(backend.executor(), backend.communicator(), ""),
                        BackendError);
      },
      [](HostBackend& backend) {
        send_to_all(backend, std::vector<std::uint64_t>{std::uint64_t{1} << 40}, {1, 1});
      });
}

TEST_CASE("positions of another rank that are too many, too large or out of order are refused") {
  constexpr std::size_t own = (entries + 2) / 3;
  for (const std::vector<std::uint16_t>& positions :
       {std::vector<std::uint16_t>{5, 70}, {5, 5}, {6, 5}, std::vector<std::uint16_t>(71, 1)}) {
    const std::size_t count = positions.size();
    const bool told = count > entries;  // refused before they are sent
    with_peer(
        [&](HostBackend& backend) {
          IndexMask::on<HostExecutor> mask;
          fill(mask, backend.executor());
          CHECK_THROWS_AS(mask.unite(backend.executor(), backend.communicator()), BackendError);
        },
        [&](HostBackend& backend) {
          send_to_all(backend, std::vector<std::size_t>{count}, {1, 1});
          if (told) return;
          std::vector<std::byte> bytes(2 * count);
          std::memcpy(bytes.data(), positions.data(), bytes.size());
          send_to_all(backend, bytes, {2 * own, 2 * count});
        });
    with_peer(
        [&](HostBackend& backend) {
          IndexMask::on<HostExecutor> mask;
          fill(mask, backend.executor());
          CHECK_THROWS_AS(mask.broadcast(backend.executor(), backend.communicator(), 1),
                          BackendError);
        },
        [&](HostBackend& backend) {
          auto& comm = backend.communicator();
          std::size_t sent = count;
          broadcast(backend.executor(), comm, std::span(&sent, 1), 1);
          if (told) return;
          std::vector<std::byte> bytes(2 * count);
          std::memcpy(bytes.data(), positions.data(), bytes.size());
          broadcast(backend.executor(), comm, std::span(bytes), 1);
        });
  }
}
