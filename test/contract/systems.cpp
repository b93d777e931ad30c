// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <contract/system.hpp>

#include <utility>
#include <vector>

namespace pactrain::test::contract {

const std::vector<System>& systems() {
  static const std::vector<System> table = [] {
    std::vector<System> all;
    for (const auto family : {coded_systems, quantised_systems, scattered_systems, pruned_systems,
                              selected_systems, gathered_systems, owned_systems}) {
      for (System& system : family()) all.push_back(std::move(system));
    }
    return all;
  }();
  return table;
}

}  // namespace pactrain::test::contract
