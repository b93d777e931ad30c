// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/memory_space.hpp>
#include <pactrain/core/stage_recorder.hpp>
#include <pactrain/host/buffer.hpp>
#include <pactrain/host/executor.hpp>
#include <pactrain/host/ranges.hpp>
#include <pactrain/host/simd.hpp>
#include <pactrain/kernel/bits.hpp>

#include <omp.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace pactrain {

/// Runs kernels on OpenMP's threads; nothing is queued, `fence` returns at once. Each thread takes
/// one range of positions, bit masks cut at word edges, and works on it as `HostExecutor` does: the
/// same bits for any number of threads. A kernel that throws ends the program.
class OpenMpExecutor : public StageRecorder {
 public:
  using memory_space = HostSpace;

  /// `threads`: how many; 0 for as many as OpenMP would take (OMP_NUM_THREADS).
  explicit OpenMpExecutor(int threads = 0)
      : threads_(threads > 0 ? threads : omp_get_max_threads()) {
    expects(threads >= 0, "a negative number of threads; 0 takes OpenMP's own number");
  }

  [[nodiscard]] int threads() const noexcept { return threads_; }

  template <class T>
  [[nodiscard]] HostBuffer<T> make_buffer(std::size_t n) {
    return HostBuffer<T>(n);
  }
  template <class F>
  void for_each(std::size_t n, F f) {
    const Ranges ranges = cut(0, n, Ranges::indices_a_thread);
    on_threads(ranges.count, [&](std::size_t r) {
      for (std::size_t i = ranges.begin(r); i < ranges.begin(r + 1); ++i) f(i);
    });
  }
  template <class T, class Load, class Combine>
  void reduce(std::size_t n, T init, Load load, Combine combine, std::span<T, 1> out) {
    const Ranges ranges = cut(0, n, Ranges::indices_a_thread);
    on_threads(ranges.count, [&](std::size_t r) {
      if (ranges.begin(r) == ranges.begin(r + 1)) return;
      T mine = load(ranges.begin(r));
      for (std::size_t i = ranges.begin(r) + 1; i < ranges.begin(r + 1); ++i) {
        mine = combine(mine, load(i));
      }
      // Threads come in any order, which an exactly associative `combine` does not show.
#pragma omp critical(pactrain_reduce)
      init = combine(init, mine);
    });
    out[0] = init;
  }
  /// Calls `load` twice an index.
  template <class Load>
  void scan(std::size_t n, Load load, std::span<std::size_t> before,
            std::span<std::size_t, 1> total) {
    const Ranges ranges = cut(0, n, Ranges::indices_a_thread);
    sums_.assign(ranges.count + 1, 0);
    on_threads(ranges.count, [&](std::size_t r) {
      std::size_t sum = 0;
      for (std::size_t i = ranges.begin(r); i < ranges.begin(r + 1); ++i) sum += load(i);
      sums_[r + 1] = sum;
    });
    for (std::size_t r = 0; r < ranges.count; ++r) sums_[r + 1] += sums_[r];
    on_threads(ranges.count, [&](std::size_t r) {
      std::size_t sum = sums_[r];
      for (std::size_t i = ranges.begin(r); i < ranges.begin(r + 1); ++i) {
        const std::size_t value = load(i);
        before[i] = sum;
        sum += value;
      }
    });
    total[0] = sums_[ranges.count];
  }
  template <class T>
  void copy(std::span<const T> from, std::span<T> to) {
    host_.copy(from, to);
  }
  template <class T>
  void read(std::span<const T> from, std::span<T> to) {
    host_.read(from, to);
  }
  template <class T>
  void write(std::span<const T> from, std::span<T> to) {
    host_.write(from, to);
  }
  void fence() {}

  /// The fast paths of `HostExecutor`, each thread on its range.
  template <simd::HasFastForm F>
  using fast_form = simd::FastForm<F>;
  template <class T>
  void compress(kernel::Bits bits, std::size_t first, std::span<const T> dense, T* packed,
                std::size_t base, std::uint32_t* non_finite) {
    const Ranges ranges = cut(first, dense.size(), Ranges::entries_a_thread);
    const bool found = on_threads(ranges.count, [&](std::size_t r) {
      std::uint32_t mine = 0;
      HostExecutor{}.compress(bits, first + ranges.begin(r), ranges.of(dense, r), packed, base,
                              non_finite != nullptr ? &mine : nullptr);
      return mine != 0;
    });
    if (found) *non_finite = 1;
  }
  template <class T>
  void expand(kernel::Bits bits, std::size_t first, const T* packed, std::size_t base,
              std::span<T> dense) {
    const Ranges ranges = cut(first, dense.size(), Ranges::entries_a_thread);
    on_threads(ranges.count, [&](std::size_t r) {
      HostExecutor{}.expand(bits, first + ranges.begin(r), packed, base, ranges.of(dense, r));
    });
  }
  template <class T>
  void find_stray(kernel::Bits bits, std::size_t first, std::span<const T> dense,
                  std::uint32_t* stray) {
    const Ranges ranges = cut(first, dense.size(), Ranges::entries_a_thread);
    const bool found = on_threads(ranges.count, [&](std::size_t r) {
      std::uint32_t mine = 0;
      HostExecutor{}.find_stray(bits, first + ranges.begin(r), ranges.of(dense, r), &mine);
      return mine != 0;
    });
    if (found) *stray = 1;
  }
  template <class T>
  void find_non_finite(std::span<const T> values, std::uint32_t* non_finite) {
    const Ranges ranges = cut(0, values.size(), Ranges::entries_a_thread);
    const bool found = on_threads(ranges.count, [&](std::size_t r) {
      std::uint32_t mine = 0;
      HostExecutor{}.find_non_finite(ranges.of(values, r), &mine);
      return mine != 0;
    });
    if (found) *non_finite = 1;
  }
  /// On the calling thread.
  template <class T>
  simd::Bar<T> kth_largest(std::span<const std::span<const T>> parts, std::size_t k) {
    return host_.kth_largest(parts, k);
  }

 private:
  [[nodiscard]] Ranges cut(std::size_t first, std::size_t n, std::size_t enough) const {
    return Ranges::cut(first, n, enough, static_cast<std::size_t>(threads_));
  }
  /// Calls `f(r)` for each range, a thread each; whether any said so.
  template <class F>
  bool on_threads(std::size_t count, F f) {
    const int ranges = static_cast<int>(count);
    int any = 0;
#pragma omp parallel for num_threads(ranges) if (ranges > 1) schedule(static, 1) reduction(| : any)
    for (int r = 0; r < ranges; ++r) {
      if constexpr (std::is_void_v<decltype(f(std::size_t{}))>) f(static_cast<std::size_t>(r));
      else any |= f(static_cast<std::size_t>(r)) ? 1 : 0;
    }
    return any != 0;
  }

  int threads_;
  std::vector<std::size_t> sums_;  ///< of a scan's ranges
  HostExecutor host_;
};

static_assert(Executor<OpenMpExecutor>);

}  // namespace pactrain
