// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "parameters.hpp"
#include "reducer.hpp"

#include <pactrain/pactrain.hpp>

#include <memory>

namespace demo {

/// Scores of all parameters by SNIP: the gradient at the start, of one batch. Collective.
std::shared_ptr<Parameters> snip(const Task& task);

/// Scores by GraSP: the Hessian's product with the gradient of both halves of the batch and of all
/// ranks, logits divided by 200, as in the authors' code. Collective. Throws std::runtime_error
/// for a network without that product.
std::shared_ptr<Parameters> grasp(const Task& task);

/// The policy that prunes by them, from the first step on. They have to outlive it.
pactrain::ByScore by_score(const Task& task, const Parameters& scores);

}  // namespace demo
