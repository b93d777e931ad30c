// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <concepts>

namespace pactrain {

/// Where a pointer may be dereferenced: two constants, no functions.
template <class S>
concept MemorySpace = requires {
  requires std::same_as<decltype(S::host_accessible), const bool>;
  requires std::same_as<decltype(S::device_accessible), const bool>;
};

/// Memory that only the host reads and writes.
struct HostSpace {
  static constexpr bool host_accessible = true;
  static constexpr bool device_accessible = false;
};

/// Memory that only a device reads and writes.
struct DeviceSpace {
  static constexpr bool host_accessible = false;
  static constexpr bool device_accessible = true;
};

/// Memory that both read and write.
struct UnifiedSpace {
  static constexpr bool host_accessible = true;
  static constexpr bool device_accessible = true;
};

static_assert(MemorySpace<HostSpace> && MemorySpace<DeviceSpace> && MemorySpace<UnifiedSpace>);

}  // namespace pactrain
