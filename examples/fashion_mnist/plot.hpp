// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "results.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace demo {

/// Draws, under a title, test accuracy against steps and against bytes sent: writes accuracy.dat (a
/// block a run), accuracy.gp and, by gnuplot, accuracy.png into the directory. Gives what went
/// wrong, or nothing; data and script are kept, so that the picture can be drawn later.
std::string plot(const std::filesystem::path& directory, const std::string& title,
                 const std::vector<Result>& results);

}  // namespace demo
