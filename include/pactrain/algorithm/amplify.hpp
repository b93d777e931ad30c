// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/policy/policy.hpp>

#include <cstddef>
#include <span>

namespace pactrain {

namespace kernel {
/// x[i] *= factor, rounded once.
template <class T>
struct Amplify {
  T* x;
  arithmetic_t<T> factor;
  PACTRAIN_FN void operator()(std::size_t i) const {
    x[i] = static_cast<T>(static_cast<arithmetic_t<T>>(x[i]) * factor);
  }
};
}  // namespace kernel

/// Do this policy's options ask for gains?
template <class Policy>
[[nodiscard]] bool is_amplified(const Policy& policy) {
  if constexpr (requires { policy.unbiased; }) return policy.unbiased;
  else return false;
}

/// Multiplies packed values by the gains of their parts, where the policy has gains at all.
template <class PolicyOn, Executor E, class S>
void amplify(E& exec, const PolicyOn& policy, std::span<const PackedPart> parts,
             std::span<S> packed) {
  if constexpr (has_gain<PolicyOn>) {
    if (packed.empty()) return;
    for (const PackedPart& part : parts) {
      const double gain = policy.gain(part.part);
      if (gain == 1 || part.size == 0) continue;
      exec.for_each(part.size, kernel::Amplify<S>{packed.data() + part.first,
                                                  static_cast<arithmetic_t<S>>(gain)});
    }
  }
}

/// Throws `PreconditionError` where a policy makes its values unbiased by a gain and a feedback
/// would add what it left out once more.
template <class Policy, class Feedback>
void expects_one_compensation(const Policy& policy) {
  if constexpr (Feedback::active) {
    expects(!is_amplified(policy),
            "the policy is unbiased (what it sends stands for what it leaves out) and the feedback "
            "remembers what was left out, so each entry would count twice; drop .unbiased, or take "
            "NoFeedback");
  }
}

}  // namespace pactrain
