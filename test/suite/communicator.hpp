// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/values.hpp>
#include <suite/world.hpp>

#include <pactrain/core/collectives.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/error.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// What every communicator must do, for any backend: sums bit for bit as a serial loop in rank
/// order, moved bytes where they belong, bytes counted by formula, errors and deadlines.
namespace pactrain::test::communicator {

inline constexpr std::size_t sizes[] = {0, 1, 63, 64, 65, 1000};
inline constexpr std::size_t large = 100003;

template <class B>
using executor_of = typename B::executor_type;
template <class T, class B>
Array<T, executor_of<B>> array(B& backend, const std::vector<T>& values, std::size_t offset = 0) {
  return {backend.executor(), std::span<const T>(values), offset};
}

/// A type that only moves.
struct Triple {
  std::uint8_t bytes[3];
  friend bool operator==(const Triple&, const Triple&) = default;
};
inline std::vector<Triple> triples(int from, std::size_t n, int to = 0) {
  std::vector<Triple> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t x = kernel::mix(i, static_cast<std::uint64_t>(100 * from + to));
    values[i] = {static_cast<std::uint8_t>(x), static_cast<std::uint8_t>(x >> 8),
                 static_cast<std::uint8_t>(x >> 16)};
  }
  return values;
}

template <class T, class B, class Op>
void check_reductions(B& backend, std::size_t n, Op op, std::size_t offset = 0) {
  auto& comm = backend.communicator();
  const int rank = comm.rank(), ranks = comm.size();
  CAPTURE(name_of(value_type<T>));
  CAPTURE(rank);
  CAPTURE(ranks);
  CAPTURE(n);
  const std::vector<T> expected = reduced_values<T>(ranks, n, op);
  const std::vector<T> input = values_of<T>(rank, n);

  const auto x = array(backend, input, offset);
  all_reduce(backend.executor(), comm, x.span(), op);
  CHECK(same_bits(x.read(), expected));

  const Share own = share_of(n, rank, ranks);
  const auto in = array(backend, input, offset);
  const auto out = array(backend, std::vector<T>(own.size()), offset);
  reduce_scatter(backend.executor(), comm, in.view(), out.span(), op);
  CHECK(same_bits(out.read(),
                  std::vector<T>(expected.begin() + static_cast<std::ptrdiff_t>(own.begin),
                                 expected.begin() + static_cast<std::ptrdiff_t>(own.end))));
  CHECK(same_bits(in.read(), input));
}

template <World W>
void sums_are_in_rank_order() {
  on_each<W>([](auto& backend) {
    for_reducible_types([&]<class T>() {
      for (const std::size_t n : sizes) {
        check_reductions<T>(backend, n, Sum{});
        check_reductions<T>(backend, n, Max{});
        if constexpr (GradientValue<T>) check_reductions<T>(backend, n, Mean{});
      }
    });
    for_types<float, float16>([&]<class T>() { check_reductions<T>(backend, large, Mean{}); });
  });
}

/// The values of these suites would not do if their sums were the same in any order.
template <World W>
void the_order_shows() {
  int differ = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const float x[] = {value_of<float>(0, i), value_of<float>(1, i), value_of<float>(2, i)};
    differ += (x[0] + x[1]) + x[2] != x[0] + (x[1] + x[2]);
  }
  CHECK(differ > 100);
}

template <World W>
void alignment_does_not_matter() {
  on_each<W>([](auto& backend) {
    for_reducible_types([&]<class T>() {
      for (const std::size_t offset : {1u, 3u}) check_reductions<T>(backend, 65, Sum{}, offset);
    });
  });
}

/// Half types are added in float and rounded once: cases T1 and T2.
template <World W>
void halves_neither_overflow_nor_vanish() {
  on_each<W>([](auto& backend) {
    for (const float16 value : {float16(40000.0f), float16(0x1p-24f)}) {
      const auto x = array(backend, std::vector<float16>{value});
      all_reduce(backend.executor(), backend.communicator(), x.span(), Mean{});
      CHECK(x.read()[0].bits == value.bits);
    }
  });
}

template <World W>
void broadcast_copies_the_root() {
  on_each<W>([](auto& backend) {
    auto& comm = backend.communicator();
    for (int root = 0; root < comm.size(); ++root) {
      for (const std::size_t n : {0u, 1u, 65u, 1000u}) {
        const auto x = array(backend, triples(comm.rank(), n), 1);
        broadcast(backend.executor(), comm, x.span(), root);
        CHECK(x.read() == triples(root, n));
      }
    }
  });
}

/// Uneven counts, some of them zero.
inline std::size_t count_of(int from, int to, std::size_t scale) {
  return static_cast<std::size_t>((5 * from + 3 * to + 1) % 4) * scale;
}

template <World W>
void all_gather_keeps_rank_order() {
  on_each<W>([](auto& backend) {
    auto& comm = backend.communicator();
    for (const std::size_t scale : {0u, 1u, 61u, 700u}) {
      std::vector<std::size_t> counts;
      std::vector<Triple> expected;
      for (int r = 0; r < comm.size(); ++r) {
        counts.push_back(count_of(r, 0, scale));
        const auto theirs = triples(r, counts.back());
        expected.insert(expected.end(), theirs.begin(), theirs.end());
      }
      const auto rank = static_cast<std::size_t>(comm.rank());
      const auto mine = array(backend, triples(comm.rank(), counts[rank]));
      const auto all = array(backend, std::vector<Triple>(expected.size()), 1);
      all_gather(backend.executor(), comm, mine.view(), std::span<const std::size_t>(counts),
                 all.span());
      CHECK(all.read() == expected);
    }
    const auto mine = array(backend, triples(comm.rank(), 5));
    const auto all = array(backend, std::vector<Triple>(5 * static_cast<std::size_t>(comm.size())));
    all_gather(backend.executor(), comm, mine.view(), all.span());
    const auto got = all.read();
    for (int r = 0; r < comm.size(); ++r) {
      const auto theirs = triples(r, 5);
      CHECK(std::equal(theirs.begin(), theirs.end(), got.begin() + 5 * r));
    }
  });
}

template <World W>
void all_to_all_brings_each_its_slice() {
  on_each<W>([](auto& backend) {
    auto& comm = backend.communicator();
    for (const std::size_t scale : {0u, 1u, 61u, 700u}) {
      std::vector<std::size_t> send_counts, recv_counts;
      std::vector<Triple> input, expected;
      for (int r = 0; r < comm.size(); ++r) {
        send_counts.push_back(count_of(comm.rank(), r, scale));
        recv_counts.push_back(count_of(r, comm.rank(), scale));
        const auto out = triples(comm.rank(), send_counts.back(), r);
        const auto in = triples(r, recv_counts.back(), comm.rank());
        input.insert(input.end(), out.begin(), out.end());
        expected.insert(expected.end(), in.begin(), in.end());
      }
      const auto send = array(backend, input);
      const auto recv = array(backend, std::vector<Triple>(expected.size()), 1);
      all_to_all(backend.executor(), comm, send.view(), std::span<const std::size_t>(send_counts),
                 recv.span(), std::span<const std::size_t>(recv_counts));
      CHECK(recv.read() == expected);
    }
  });
}

/// Several operations under way, finished in another order than started, some of them by `test`.
template <World W>
void operations_may_overlap() {
  on_each<W>([](auto& backend) {
    auto& comm = backend.communicator();
    auto& exec = backend.executor();
    const int ranks = comm.size();
    for (int round = 0; round < 3; ++round) {
      const auto a = array(backend, values_of<float>(comm.rank(), 1000));
      const auto b = array(backend, values_of<double>(comm.rank(), 65));
      const auto c = array(backend, triples(comm.rank(), 300));
      const auto d = array(backend, values_of<float>(comm.rank(), 7));
      auto on_a = comm.start_all_reduce(exec, a.span(), Mean{});
      auto on_b = comm.start_all_reduce(exec, b.span(), Sum{});
      auto on_c = comm.start_broadcast(exec, c.span(), ranks - 1);
      auto on_d = comm.start_all_reduce(exec, d.span(), Max{});
      comm.finish(on_d, usual_deadline(comm));
      while (!comm.test(on_b)) std::this_thread::yield();
      auto moved = std::move(on_a);
      comm.finish(on_c, usual_deadline(comm));
      comm.finish(moved, usual_deadline(comm));
      comm.finish(moved, usual_deadline(comm));
      CHECK(comm.test(on_b));
      CHECK(same_bits(a.read(), reduced_values<float>(ranks, 1000, Mean{})));
      CHECK(same_bits(b.read(), reduced_values<double>(ranks, 65, Sum{})));
      CHECK(c.read() == triples(ranks - 1, 300));
      CHECK(same_bits(d.read(), reduced_values<float>(ranks, 7, Max{})));
    }
    typename std::remove_reference_t<decltype(comm)>::request none;
    CHECK(comm.test(none));
  });
}

/// Ranks that finish in different orders do not wait for each other in a circle.
template <World W>
void ranks_may_finish_in_different_orders() {
  on_each<W>(
      [](auto& backend) {
        auto& comm = backend.communicator();
        const auto a = array(backend, values_of<float>(comm.rank(), 1000));
        const auto b = array(backend, values_of<float>(comm.rank(), 50));
        auto on_a = comm.start_all_reduce(backend.executor(), a.span(), Sum{});
        auto on_b = comm.start_all_reduce(backend.executor(), b.span(), Sum{});
        auto& first = comm.rank() % 2 == 0 ? on_a : on_b;
        auto& second = comm.rank() % 2 == 0 ? on_b : on_a;
        comm.finish(first, usual_deadline(comm));
        comm.finish(second, usual_deadline(comm));
        CHECK(same_bits(a.read(), reduced_values<float>(comm.size(), 1000, Sum{})));
        CHECK(same_bits(b.read(), reduced_values<float>(comm.size(), 50, Sum{})));
      },
      std::chrono::seconds(5));
}

/// Bytes handed to the transport for other ranks, exactly.
template <World W>
void bytes_are_counted() {
  on_each<W>([](auto& backend) {
    auto& comm = backend.communicator();
    auto& exec = backend.executor();
    const auto ranks = static_cast<std::size_t>(comm.size());
    const auto rank = static_cast<std::size_t>(comm.rank());
    std::uint64_t before = comm.bytes_sent();
    CHECK(before == 0);
    const auto sent = [&] { return comm.bytes_sent() - std::exchange(before, comm.bytes_sent()); };
    for (const std::size_t n : {0u, 1u, 3u, 1000u, 100003u}) {
      CAPTURE(n);
      const std::size_t own = share_of(n, comm.rank(), comm.size()).size();
      const auto x = array(backend, std::vector<float>(n));
      const auto half = array(backend, std::vector<float16>(n));
      const auto out = array(backend, std::vector<float>(own));
      all_reduce(exec, comm, x.span(), Sum{});
      CHECK(sent() == 4 * (n - own + (ranks - 1) * own));
      all_reduce(exec, comm, half.span(), Mean{});
      CHECK(sent() == 2 * (n - own + (ranks - 1) * own));
      reduce_scatter(exec, comm, x.view(), out.span(), Sum{});
      CHECK(sent() == 4 * (n - own));
      broadcast(exec, comm, x.span(), 0);
      CHECK(sent() == (rank == 0 ? 4 * n * (ranks - 1) : 0));
      const auto all = array(backend, std::vector<float>(n * ranks));
      all_gather(exec, comm, x.view(), all.span());
      CHECK(sent() == 4 * n * (ranks - 1));
      const std::vector<std::size_t> counts(ranks, n);
      const auto recv = array(backend, std::vector<float>(n * ranks));
      all_to_all(exec, comm, all.view(), std::span<const std::size_t>(counts), recv.span(),
                 std::span<const std::size_t>(counts));
      CHECK(sent() == 4 * n * (ranks - 1));
    }
  });
}

/// A rank that never comes: the others' waits end at their deadline, their memory is as it was, and
/// the communicator says that it is of no more use.
template <World W>
void deadlines_hold() {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  constexpr milliseconds deadline{200};
  for (const int ranks : W::ranks()) {
    if (ranks == 1) continue;
    for (const std::size_t n : {std::size_t{10}, large}) {
      const bool set_later = n == large;
      W::run(
          ranks,
          [&](auto& backend) {
            auto& comm = backend.communicator();
            if (set_later) comm.set_timeout(deadline);
            CHECK(comm.timeout() == deadline);
            CHECK_THROWS_AS(comm.set_timeout(milliseconds(0)), PreconditionError);
            if (comm.rank() == ranks - 1) return std::this_thread::sleep_for(5 * deadline);
            const auto input = values_of<float>(comm.rank(), n);
            const auto x = array(backend, input);
            const auto begin = steady_clock::now();
            CHECK_THROWS_AS(all_reduce(backend.executor(), comm, x.span(), Sum{}),
                            DeadlineExceeded);
            const auto waited = steady_clock::now() - begin;
            CHECK(waited >
                  deadline / 2);  // where fate is shared, the first to give up ends all waits
            CHECK(waited < deadline + std::chrono::seconds(5));
            CHECK(same_bits(x.read(), input));
            std::string later;
            try {
              all_reduce(backend.executor(), comm, x.span(), Sum{});
            } catch (const BackendError& error) {
              later = error.what();
            }
            CHECK_MESSAGE(later.find("is unusable since an earlier call failed") < later.size(),
                          later);
            CHECK(same_bits(x.read(), input));
          },
          set_later ? milliseconds(patience) : deadline);
    }
  }
}

template <World W>
void an_expired_wait_names_the_missing() {
  for (const int ranks : W::ranks()) {
    if (ranks == 1) continue;
    W::run(
        ranks,
        [&](auto& backend) {
          auto& comm = backend.communicator();
          if (comm.rank() == ranks - 1) {
            return std::this_thread::sleep_for(std::chrono::milliseconds(1000));
          }
          const auto x = array(backend, values_of<float>(comm.rank(), 100));
          std::string message;
          try {
            all_reduce(backend.executor(), comm, x.span(), Sum{});
          } catch (const DeadlineExceeded& error) {
            message = error.what();
            CHECK(error.operation() == "all_reduce");
            CHECK(error.rank() == ranks - 1);
            CHECK(!error.step());
          }
          CAPTURE(message);
          CHECK(message.find("all_reduce") != std::string::npos);
          CHECK(message.find("rank " + std::to_string(ranks - 1)) != std::string::npos);
        },
        std::chrono::milliseconds(200));
  }
}

/// Sizes that differ: a clear error, the same on all where ranks share their fate.
template <World W>
void sizes_must_agree() {
  for (const int ranks : W::ranks()) {
    if (ranks == 1) continue;
    for (int odd = 0; odd < ranks; ++odd) {
      const auto body = [&](auto& backend) {
        auto& comm = backend.communicator();
        const auto input = values_of<float>(comm.rank(), comm.rank() == odd ? 1001 : 1000);
        const auto x = array(backend, input);
        bool failed = false;
        try {
          all_reduce(backend.executor(), comm, x.span(), Sum{});
        } catch (const RankMismatch& error) {
          failed = true;
          CHECK(error.field() == "size");
          CHECK(error.rank() >= 0);
          CHECK(error.rank() < ranks);
        } catch (const DeadlineExceeded&) {
          failed = !W::shared_fate;
        }
        CHECK(failed);
        CHECK(same_bits(x.read(), input));
      };
      W::run(ranks, body,
             W::shared_fate ? std::chrono::milliseconds(patience) : std::chrono::milliseconds(300));
    }
  }
}

/// A rank that throws: its exception comes out, and the others hear of it.
template <World W>
void a_failing_rank_is_noticed() {
  struct Mine : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  for (const int ranks : W::ranks()) {
    for (int failing = 0; failing < ranks; ++failing) {
      bool came_out = false;
      try {
        W::run(
            ranks,
            [&](auto& backend) {
              auto& comm = backend.communicator();
              if (comm.rank() == failing) throw Mine("mine");
              const auto x = array(backend, values_of<float>(comm.rank(), 100));
              if constexpr (W::shared_fate) {
                CHECK_THROWS_AS(all_reduce(backend.executor(), comm, x.span(), Sum{}), PeerLost);
              } else {
                CHECK_THROWS_AS(all_reduce(backend.executor(), comm, x.span(), Sum{}),
                                BackendError);
              }
            },
            W::shared_fate ? std::chrono::milliseconds(patience) : std::chrono::milliseconds(200));
      } catch (const Mine&) {
        came_out = true;
      }
      const bool here = W::shared_fate || W::rank() == failing;
      CHECK(came_out == here);
    }
  }
}

template <World W>
void an_aborted_communicator_refuses() {
  on_each<W>([](auto& backend) {
    auto& comm = backend.communicator();
    const auto x = array(backend, values_of<float>(comm.rank(), 100));
    auto pending = comm.start_all_reduce(backend.executor(), x.span(), Sum{});
    comm.finish(pending, usual_deadline(comm));
    comm.abort("this test says so");
    bool refused = false;
    try {
      all_reduce(backend.executor(), comm, x.span(), Sum{});
    } catch (const PeerLost& error) {
      refused = std::string(error.what()).find("this test says so") != std::string::npos;
    }
    CHECK(refused);
  });
}

template <World W>
void wrong_arguments_are_refused() {
  on_each<W>([](auto& backend) {
    auto& comm = backend.communicator();
    auto& exec = backend.executor();
    const auto x = array(backend, std::vector<float>(10, 1.0f));
    const auto y = array(backend, std::vector<float>(9));
    const std::vector<std::size_t> wrong(static_cast<std::size_t>(comm.size()) + 1, 1);
    const std::span<const std::size_t> counts(wrong);
    CHECK_THROWS_AS(broadcast(exec, comm, x.span(), comm.size()), PreconditionError);
    CHECK_THROWS_AS(broadcast(exec, comm, x.span(), -1), PreconditionError);
    CHECK_THROWS_AS(all_gather(exec, comm, x.view(), counts, y.span()), PreconditionError);
    CHECK_THROWS_AS(all_to_all(exec, comm, x.view(), counts, y.span(), counts), PreconditionError);
    const auto all = array(backend, std::vector<float>(100));
    CHECK_THROWS_AS(reduce_scatter(exec, comm, x.view(), all.span(), Sum{}), PreconditionError);
    all_reduce(exec, comm, x.span(), Mean{});
    CHECK(x.read() == std::vector<float>(10, 1.0f));
  });
}

TEST_CASE_TEMPLATE_DEFINE("communicator", W, communicator_suite) {
  SUBCASE("the order of these sums shows") { the_order_shows<W>(); }
  SUBCASE("sums are in rank order") { sums_are_in_rank_order<W>(); }
  SUBCASE("alignment does not matter") { alignment_does_not_matter<W>(); }
  SUBCASE("halves neither overflow nor vanish") { halves_neither_overflow_nor_vanish<W>(); }
  SUBCASE("broadcast copies the root") { broadcast_copies_the_root<W>(); }
  SUBCASE("all_gather keeps rank order") { all_gather_keeps_rank_order<W>(); }
  SUBCASE("all_to_all brings each its slice") { all_to_all_brings_each_its_slice<W>(); }
  SUBCASE("operations may overlap") { operations_may_overlap<W>(); }
  SUBCASE("ranks may finish in different orders") { ranks_may_finish_in_different_orders<W>(); }
  SUBCASE("bytes are counted") { bytes_are_counted<W>(); }
  SUBCASE("deadlines hold") { deadlines_hold<W>(); }
  if constexpr (!requires { W::blind; }) {
    SUBCASE("an expired wait names the missing") { an_expired_wait_names_the_missing<W>(); }
    SUBCASE("sizes must agree") { sizes_must_agree<W>(); }
  }
  SUBCASE("a failing rank is noticed") { a_failing_rank_is_noticed<W>(); }
  SUBCASE("an aborted communicator refuses") { an_aborted_communicator_refuses<W>(); }
  SUBCASE("wrong arguments are refused") { wrong_arguments_are_refused<W>(); }
}

}  // namespace pactrain::test::communicator
