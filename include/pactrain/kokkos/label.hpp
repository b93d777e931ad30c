// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>

namespace pactrain::kokkos {

/// A type's name as the compiler spells it, without what its parts lie in: namespaces, classes,
/// functions.
inline std::string without_namespaces(std::string_view spelled) {
  std::string name;
  for (std::size_t i = 0; i < spelled.size(); ++i) {
    if (!spelled.substr(i).starts_with("::")) {
      name += spelled[i];
      continue;
    }
    // What ends here may have brackets of its own: "on<Executor<Serial> >", "f(int, long int)".
    std::size_t begin = name.size();
    for (int closed = 0; begin > 0; --begin) {
      const char last = name[begin - 1];
      if (closed == 0 && std::string_view("<(, ").find(last) != std::string_view::npos) break;
      if (last == '>' || last == ')') ++closed;
      if (last == '<' || last == '(') --closed;
    }
    name.resize(begin);
    ++i;
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
