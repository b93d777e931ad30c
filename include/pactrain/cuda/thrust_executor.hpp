// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/cuda/bit_groups.hpp>
#include <pactrain/cuda/digits.hpp>
#include <pactrain/cuda/reduce.hpp>
#include <pactrain/cuda/temporaries.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/pack.hpp>

#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/scan.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace pactrain {

/// Runs kernels on a system of Thrust's: CUDA (`CudaExecutor`), OpenMP or the calling thread, all
/// from this one source. Loops and scans are Thrust's, with temporaries that are kept between
/// calls; reductions, bit masks and ranking are written for teams of lanes (`gpu::Team`), which are
/// warps and blocks on a device, so that tests on the host run what a device runs.
///
/// A `System` supplies memory (`make_buffer`), Thrust's policy, a launch of teams, copies and a
/// fence. The result of everything is the same on all systems, bit for bit, as far as the compiler
/// keeps multiplications and additions apart (nvcc: `-fmad=false`).
template <class System>
class ThrustExecutor {
 public:
  using memory_space = typename System::memory_space;

  explicit ThrustExecutor(System system = System{})
      : system_(std::make_unique<System>(std::move(system))), temporaries_(*system_) {}

  [[nodiscard]] System& system() noexcept { return *system_; }

  template <class T>
  [[nodiscard]] auto make_buffer(std::size_t n) {
    return system_->template make_buffer<T>(n);
  }
  template <class F>
  void for_each(std::size_t n, F f) {
    if (n == 0) return;
    system_->run("for_each", [&] {
      thrust::for_each_n(system_->policy(temporaries_), thrust::counting_iterator<std::size_t>(0),
                         n, f);
    });
  }
  template <class T, class Load, class Combine>
  void reduce(std::size_t n, T init, Load load, Combine combine, std::span<T, 1> out) {
    if (n == 0) return for_each(1, kernel::Fill<T>{out.data(), init});
    const auto pieces = gpu::Pieces::cut(n, least_entries, most_teams);
    using Piece = gpu::ReducePiece<T, Load, Combine>;
    if (pieces.count() == 1) {
      return for_teams(1, Piece{load, combine, pieces, out.data(), init, true});
    }
    T* const partial = scratch_.template take<T>(*system_, pieces.count()).data();
    for_teams(pieces.count(), Piece{load, combine, pieces, partial, init, false});
    for_teams(1, gpu::ReducePiece<T, gpu::LoadAt<T>, Combine>{
                     {partial}, combine, {pieces.count(), pieces.count()}, out.data(), init, true});
  }
  template <class Load>
  void scan(std::size_t n, Load load, std::span<std::size_t> before,
            std::span<std::size_t, 1> total) {
    if (n == 0) return for_each(1, kernel::Fill<std::size_t>{total.data(), 0});
    const auto loads =
        thrust::make_transform_iterator(thrust::counting_iterator<std::size_t>(0), load);
    system_->run("scan", [&] {
      thrust::exclusive_scan(system_->policy(temporaries_), loads, loads + static_cast<long>(n),
                             before.data(), std::size_t{0}, kernel::Add{});
    });
    for_each(1, gpu::AddLast<Load>{load, before.data(), n - 1, total.data()});
  }
  template <class T>
  void copy(std::span<const T> from, std::span<T> to) {
    if (!from.empty()) system_->copy(from.data(), to.data(), from.size_bytes());
  }
  template <class T>
  void read(std::span<const T> from, std::span<T> to) {
    copy(from, to);
    fence();
  }
  template <class T>
  void write(std::span<const T> from, std::span<T> to) {
    copy(from, to);
    fence();
  }
  void fence() { system_->fence(); }

  /// The values of `dense`, which begins at position `first`, that `bits` keeps go to their slots;
  /// `packed` holds slot `base` first. Where asked, `*non_finite` becomes 1 if any value, kept or
  /// not, is an infinity or a NaN, in the same pass.
  template <class T>
  void compress(kernel::Bits bits, std::size_t first, std::span<const T> dense, T* packed,
                std::size_t base, std::uint32_t* non_finite) {
    if (dense.empty()) return;
    const gpu::GroupRun run{bits, first, first + dense.size()};
    for_teams(run.count(), gpu::PackGroup<T>{run, dense.data(), packed, base, non_finite,
                                             whole_packets(dense.data(), first)});
  }
  /// The reverse, with zeros at the positions that `bits` does not keep.
  template <class T>
  void expand(kernel::Bits bits, std::size_t first, const T* packed, std::size_t base,
              std::span<T> dense) {
    if (dense.empty()) return;
    const gpu::GroupRun run{bits, first, first + dense.size()};
    for_teams(run.count(), gpu::UnpackGroup<T>{run, packed, base, dense.data(),
                                               whole_packets(dense.data(), first)});
  }
  /// `*stray` becomes 1 if a value that `bits` does not keep differs from zero.
  template <class T>
  void find_stray(kernel::Bits bits, std::size_t first, std::span<const T> dense,
                  std::uint32_t* stray) {
    if (dense.empty()) return;
    const gpu::GroupRun run{bits, first, first + dense.size()};
    for_teams(run.count(),
              gpu::StrayGroup<T>{run, dense.data(), stray, whole_packets(dense.data(), first)});
  }
  /// `*non_finite` becomes 1 if a value is an infinity or a NaN.
  template <class T>
  void find_non_finite(std::span<const T> values, std::uint32_t* non_finite) {
    if (values.empty()) return;
    const auto pieces = gpu::Pieces::cut(values.size(), least_entries, most_teams);
    for_teams(pieces.count(), gpu::FinitePiece<T>{pieces, values.data(), non_finite,
                                                  whole_packets(values.data(), 0)});
  }
  template <class T>
  void find_non_finite(std::span<T> values, std::uint32_t* non_finite) {
    find_non_finite(std::span<const T>(values), non_finite);
  }

  /// The k-th largest magnitude of some spans together, and how many lie above it.
  template <class T>
  struct Ranked {
    bits_t<T> bar;
    std::size_t above;
  };
  /// Waits, once.
  template <class T>
  [[nodiscard]] Ranked<T> kth_largest(std::span<const std::span<const T>> parts, std::size_t k) {
    using gpu::digit_bits, gpu::digit_values;
    unsigned shift = 8 * sizeof(T) - 1;  // a magnitude has no sign
    const std::size_t digits = (shift + digit_bits - 1) / digit_bits;
    const auto known = known_.template take<gpu::Found<T>>(*system_, digits + 1);
    const auto counts = counts_.template take<unsigned long long>(*system_, digit_values);
    const auto before = before_.template take<std::size_t>(*system_, digit_values + 1);
    for_each(1, kernel::Fill<gpu::Found<T>>{known.data(), {0, 0, k}});
    for (gpu::Found<T>* found = known.data(); shift > 0; ++found) {
      const unsigned bits = std::min(shift, digit_bits);
      const gpu::Digit digit{shift -= bits, bits};
      for_each(digit_values, kernel::Fill<unsigned long long>{counts.data(), 0});
      for (const std::span<const T> part : parts) {
        const auto pieces = gpu::Pieces::cut(part.size(), least_entries, most_teams);
        for_teams(pieces.count(),
                  gpu::CountDigits<T>{pieces, part.data(), digit, found, counts.data()});
      }
      const gpu::CountsDownwards downwards{counts.data()};
      scan(digit_values, downwards, before.first(digit_values),
           std::span<std::size_t, 1>(before.data() + digit_values, 1));
      for_each(digit_values, gpu::FindDigit<T>{downwards, before.data(), digit, found, found + 1});
    }
    gpu::Found<T> result;
    read(std::span<const gpu::Found<T>>(known.subspan(digits)), std::span(&result, 1));
    return {result.bar, static_cast<std::size_t>(result.above)};
  }

 private:
  // A device has some hundred thousand threads; less than this would not be worth a team.
  static constexpr std::size_t least_entries = 4096, most_teams = 1024;

  template <class F>
  void for_teams(std::size_t teams, F f) {
    if (teams == 0) return;
    system_->run("for_teams", [&] { system_->for_teams(system_->policy(temporaries_), teams, f); });
  }
  /// Do packets of 16 bytes that begin at multiples of their width in positions, `x` being at
  /// position `first`, begin at multiples of 16 bytes?
  template <class T>
  static bool whole_packets(const T* x, std::size_t first) {
    return (reinterpret_cast<std::uintptr_t>(x) - first * sizeof(T)) % 16 == 0;
  }

  std::unique_ptr<System> system_;  // temporaries know it, wherever the executor is moved
  gpu::Temporaries<System> temporaries_;
  gpu::Kept<System> scratch_, known_, counts_, before_;
};

}  // namespace pactrain
