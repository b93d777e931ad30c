// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace pactrain {

/// For every part of the model, is it among the names of those that are kept whole? A name that no
/// part has is a `PreconditionError` that lists the names there are.
[[nodiscard]] inline std::vector<bool> exempt_parts(const Model& model,
                                                    const std::vector<std::string>& names) {
  std::vector<bool> exempt(model.parts().size(), false);
  for (const std::string& name : names) {
    const std::size_t part = model.part_named(name);
    expects(part < exempt.size(), [&] {
      std::string there;
      for (const Part& each : model.parts())
        there += (there.empty() ? "'" : ", '") + each.name + "'";
      return "no part is called '" + name +
             "' (exempt names parts that are kept whole); there are " +
             (there.empty() ? "none" : there);
    });
    exempt[part] = true;
  }
  return exempt;
}

/// Adds names to a fingerprint of options.
inline void add_names(Fingerprint& fingerprint, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    fingerprint(name.size());
    for (const char letter : name) fingerprint(static_cast<unsigned char>(letter));
  }
}

}  // namespace pactrain
