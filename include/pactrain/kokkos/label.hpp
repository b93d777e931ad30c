// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>

namespace pactrain::kokkos {

/// A type's name as the compiler spells it, without the namespaces it lies in.
inline std::string without_namespaces(std::string_view spelled) {
  std::string name;
  for (std::size_t i = 0; i < spelled.size(); ++i) {
    if (spelled.substr(i).starts_with("::")) {
      // Spaces are part of "(anonymous namespace)".
      const std::size_t outer = name.find_last_of("<,");
      const std::size_t begin = outer == std::string::npos ? 0 : outer + 1;
      name.resize(name[begin] == ' ' ? begin + 1 : begin);
      ++i;
    } else {
      name += spelled[i];
    }
  }
  return name;
}

template <class Kernel>
std::string_view spelled_name() {
  // "... [with Kernel = pactrain::kernel::Fill<float>; ...]", or without the "with".
  std::string_view text = std::source_location::current().function_name();
  const std::size_t begin = text.find("Kernel = ");
  if (begin == std::string_view::npos) return "kernel";
  text.remove_prefix(begin + std::string_view("Kernel = ").size());
  return text.substr(0, text.find_first_of(";]"));
}

/// What a profiler shows of a kernel: "pactrain::" and what its functor is called, as in
/// "pactrain::Fill<float>". Made once, so that launching allocates nothing.
template <class Kernel>
const std::string& label() {
  static const std::string text = "pactrain::" + without_namespaces(spelled_name<Kernel>());
  return text;
}

}  // namespace pactrain::kokkos
