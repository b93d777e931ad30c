// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <contract/team.hpp>

#include <functional>
#include <vector>

namespace pactrain::test::contract {

std::vector<int> team_sizes() { return {1, 2, 3, 4, 5, 7}; }
void on_team(int ranks, const std::function<void(Team&)>& body) { on_thread_team(ranks, body); }

}  // namespace pactrain::test::contract
