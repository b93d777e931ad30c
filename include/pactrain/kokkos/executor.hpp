// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/executor.hpp>
#include <pactrain/host/executor.hpp>
#include <pactrain/host/ranges.hpp>
#include <pactrain/host/simd.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kokkos/buffer.hpp>
#include <pactrain/kokkos/host_kernels.hpp>
#include <pactrain/kokkos/kernels.hpp>
#include <pactrain/kokkos/label.hpp>
#include <pactrain/kokkos/space.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <utility>

namespace pactrain {

/// Runs kernels on a Kokkos execution space, in order on one instance of it, which may be the
/// user's own; buffers are Views of its memory space. Only `read`, `write` and `fence` wait for the
/// instance, and `kth_largest` of host spaces. Host spaces pack and rank as `HostExecutor` does,
/// each range of words by itself: the same bits on any space, with any number of threads.
///
/// Kokkos is neither initialised nor finalised: use outside of its lifetime is a
/// `PreconditionError`. Several executors of one space may be used by several threads, as far as
/// the space lets other threads than the one that initialised Kokkos in (Kokkos::Threads does not);
/// their kernels take turns. A kernel that throws ends the program.
template <class Space = Kokkos::DefaultExecutionSpace>
class KokkosExecutor {
  static_assert(Kokkos::is_execution_space<Space>::value,
                "pactrain: KokkosExecutor runs on a Kokkos execution space, as Kokkos::Serial or "
                "Kokkos::DefaultExecutionSpace");
  static constexpr bool on_host = kokkos::HostExecutionSpace<Space>;

 public:
  using memory_space = kokkos::memory_space_of<Space>;
  using execution_space = Space;

  /// On the default instance. Throws `PreconditionError` unless Kokkos runs.
  KokkosExecutor() : KokkosExecutor(kokkos::default_instance<Space>()) {}
  /// On this instance. Throws `PreconditionError` unless Kokkos runs.
  explicit KokkosExecutor(Space space) : space_(std::move(space)) { kokkos::expect_running(); }

  [[nodiscard]] const Space& space() const noexcept { return space_; }

  template <class T>
  [[nodiscard]] KokkosBuffer<T, Space> make_buffer(std::size_t n) {
    kokkos::expect_running();
    return KokkosBuffer<T, Space>(space_, n);
  }
  template <class F>
  void for_each(std::size_t n, F f) {
    kokkos::expect_running();
    if (n == 0) return;
    const std::lock_guard lock(kokkos::dispatching<Space>);
    Kokkos::parallel_for(kokkos::label<F>(), indices(n), f);
  }
  template <class T, class Load, class Combine>
  void reduce(std::size_t n, T init, Load load, Combine combine, std::span<T, 1> out) {
    using Kernel = kokkos::Reduce<T, Load, Combine>;
    if (n == 0) return for_each(1, kokkos::Put<T>{init, out.data()});
    kokkos::expect_running();
    const std::size_t chunk = on_host ? Ranges::indices_a_thread : 1;
    const std::lock_guard lock(kokkos::dispatching<Space>);
    Kokkos::parallel_reduce(kokkos::label<Kernel>(), indices((n - 1) / chunk + 1),
                            Kernel{n, chunk, init, load, combine, out.data()});
  }
  /// May call `load` twice an index.
  template <class Load>
  void scan(std::size_t n, Load load, std::span<std::size_t> before,
            std::span<std::size_t, 1> total) {
    using Kernel = kokkos::Scan<Load>;
    // Kokkos' scan of nothing leaves the total as it was on some spaces.
    if (n == 0) return for_each(1, kokkos::Put<std::size_t>{0, total.data()});
    kokkos::expect_running();
    const std::lock_guard lock(kokkos::dispatching<Space>);
    Kokkos::parallel_scan(kokkos::label<Kernel>(), indices(n),
                          Kernel{n, load, before.data(), total.data()});
  }
  template <class T>
  void copy(std::span<const T> from, std::span<T> to) {
    const std::span<const std::byte> bytes = std::as_bytes(from);
    std::byte* const out = reinterpret_cast<std::byte*>(to.data());
    if constexpr (on_host) {
      on_ranges<sizeof(float) * Ranges::entries_a_thread>(
          0, bytes.size(), [&](Ranges ranges) { return kokkos::Copy{ranges, bytes, out}; });
    } else {
      kokkos::expect_running();
      deep_copy<typename Space::memory_space, typename Space::memory_space>(bytes, out);
    }
  }
  template <class T>
  void read(std::span<const T> from, std::span<T> to) {
    transfer<Kokkos::HostSpace, typename Space::memory_space>(from, to);
  }
  template <class T>
  void write(std::span<const T> from, std::span<T> to) {
    transfer<typename Space::memory_space, Kokkos::HostSpace>(from, to);
  }
  void fence() {
    kokkos::expect_running();
    static const std::string name = "pactrain::fence";
    if constexpr (requires { space_.fence(name); }) space_.fence(name);
    else space_.fence();
  }

  /// The fast paths of `HostExecutor`, each thread on its range; host spaces have them.
  template <class F>
    requires(on_host && simd::HasFastForm<F>)
  using fast_form = simd::FastForm<F>;
  template <class T>
  void compress(kernel::Bits bits, std::size_t first, std::span<const T> dense, T* packed,
                std::size_t base, std::uint32_t* non_finite)
    requires on_host
  {
    on_ranges<Ranges::entries_a_thread>(first, dense.size(), [&](Ranges ranges) {
      return kokkos::Compress<T>{bits, ranges, dense, packed, base, non_finite};
    });
  }
  template <class T>
  void expand(kernel::Bits bits, std::size_t first, const T* packed, std::size_t base,
              std::span<T> dense)
    requires on_host
  {
    on_ranges<Ranges::entries_a_thread>(first, dense.size(), [&](Ranges ranges) {
      return kokkos::Expand<T>{bits, ranges, packed, base, dense};
    });
  }
  template <class T>
  void find_stray(kernel::Bits bits, std::size_t first, std::span<const T> dense,
                  std::uint32_t* stray)
    requires on_host
  {
    on_ranges<Ranges::entries_a_thread>(first, dense.size(), [&](Ranges ranges) {
      return kokkos::FindStray<T>{bits, ranges, dense, stray};
    });
  }
  template <class T>
  void find_non_finite(std::span<const T> values, std::uint32_t* non_finite)
    requires on_host
  {
    on_ranges<Ranges::entries_a_thread>(0, values.size(), [&](Ranges ranges) {
      return kokkos::FindNonFinite<T>{ranges, values, non_finite};
    });
  }
  /// On the calling thread. Waits.
  template <class T>
  simd::Bar<T> kth_largest(std::span<const std::span<const T>> parts, std::size_t k)
    requires on_host
  {
    fence();
    return host_.kth_largest(parts, k);
  }

  /// A stage of a call, as a region of Kokkos Tools': "pactrain::pack". Costs nothing unless a tool
  /// is loaded.
  void begin_stage(const char* name) {
    if (!Kokkos::Tools::profileLibraryLoaded()) return;
    const std::lock_guard lock(kokkos::dispatching<Space>);
    Kokkos::Tools::pushRegion(std::string("pactrain::") + name);
  }
  void end_stage() {
    if (!Kokkos::Tools::profileLibraryLoaded()) return;
    const std::lock_guard lock(kokkos::dispatching<Space>);
    Kokkos::Tools::popRegion();
  }

 private:
  template <class Memory, class T>
  using Unmanaged = Kokkos::View<T*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  [[nodiscard]] auto indices(std::size_t n) const {
    return Kokkos::RangePolicy<Space, Kokkos::IndexType<std::size_t>>(space_, 0, n);
  }
  /// Runs a kernel whose indices are ranges of the positions, of at least `enough` if there are
  /// several.
  template <std::size_t enough, class Make>
  void on_ranges(std::size_t first, std::size_t n, Make make) {
    const auto threads = static_cast<std::size_t>(space_.concurrency());
    const Ranges ranges = Ranges::cut(first, n, enough, threads);
    for_each(n == 0 ? 0 : ranges.count, make(ranges));
  }
  /// Between host memory and the executor's.
  template <class To, class From, class T>
  void transfer(std::span<const T> from, std::span<T> to) {
    fence();
    if (from.empty()) return;
    if constexpr (on_host) {
      std::memcpy(to.data(), from.data(), from.size_bytes());
    } else {
      deep_copy<To, From>(std::as_bytes(from), reinterpret_cast<std::byte*>(to.data()));
      fence();
    }
  }
  template <class To, class From>
  void deep_copy(std::span<const std::byte> from, std::byte* to) {
    if (from.empty()) return;
    using Byte = unsigned char;
    const std::lock_guard lock(kokkos::dispatching<Space>);
    Kokkos::deep_copy(
        space_, Unmanaged<To, Byte>(reinterpret_cast<Byte*>(to), from.size()),
        Unmanaged<From, const Byte>(reinterpret_cast<const Byte*>(from.data()), from.size()));
  }

  Space space_;
  HostExecutor host_;
};

static_assert(Executor<KokkosExecutor<>>);

}  // namespace pactrain
