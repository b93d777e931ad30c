// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/policy/policy.hpp>

namespace pactrain {

/// A local policy whose sets are merged over all ranks, then summed by one all-reduce. That is what
/// a reducer does with local policies, so `United<TopK>` is `TopK`, with the exchange spelled out.
template <class P>
  requires(P::support == Support::local)
using United = P;

}  // namespace pactrain
