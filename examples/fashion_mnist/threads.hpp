// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "network.hpp"
#include "results.hpp"
#include "settings.hpp"

#include <vector>

namespace demo {

/// Does all runs with workers that are threads of this process and share one copy of the data.
std::vector<Result> train_on_threads(const Settings& settings, const Problem& problem);

}  // namespace demo
