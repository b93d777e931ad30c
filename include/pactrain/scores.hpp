// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/agreement.hpp>
#include <pactrain/algorithm/ordered_sum.hpp>
#include <pactrain/core/backend.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/slices.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/cast.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace pactrain {

namespace kernel {
/// scores[i] *= weights[i], or the magnitude of that.
template <class W, class S>
struct TimesWeight {
  const W* weights;
  bool size;
  S* scores;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const auto product = cast<arithmetic_t<S>>(scores[i]) * cast<arithmetic_t<S>>(weights[i]);
    scores[i] = cast<S>(size && product < 0 ? -product : product);
  }
};
/// scores[i] /= sum.
template <class S>
struct Normalise {
  arithmetic_t<S> sum;
  S* scores;
  PACTRAIN_FN void operator()(std::size_t i) const {
    scores[i] = cast<S>(cast<arithmetic_t<S>>(scores[i]) / sum);
  }
};
}  // namespace kernel

namespace detail {

/// scores = the mean of `given` over ranks, times the weights; returns their sum over all slices.
template <Backend B, class W, class G, class S>
double weigh(B& backend, std::span<const Slice<W>> weights, std::span<const Slice<G>> given,
             std::span<const Slice<S>> scores, bool size) {
  auto& exec = backend.executor();
  auto& comm = backend.communicator();
  std::uint64_t sizes = scores.size();
  std::string trouble;
  if (weights.size() != scores.size() || given.size() != scores.size()) {
    trouble = "weights, gradient and scores have other numbers of slices; pass the same layers";
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::size_t n = scores[i].values.size();
    sizes = kernel::mix(sizes ^ n, i);
    if (trouble.empty() && (weights[i].values.size() != n || given[i].values.size() != n)) {
      trouble = "weights, gradient and scores of slice " + std::to_string(i) +
                " differ in size (there is a score for each weight); pass the same layers";
    }
  }
  const Statement statements[] = {{"sizes of scores", sizes, false},
                                  {"value type", static_cast<std::uint64_t>(value_type<S>), false}};
  agree(exec, comm, std::span<const Statement>(statements), trouble,
        [](std::string_view, const auto&) { return std::string(); });
  Scratch<typename B::executor_type> scratch;
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::span<S> of_slice = scores[i].values;
    exec.for_each(of_slice.size(), kernel::Convert<std::remove_const_t<G>, S>{
                                       given[i].values.data(), of_slice.data()});
    all_reduce(exec, comm, of_slice, Mean{});
    exec.for_each(of_slice.size(), kernel::TimesWeight<std::remove_const_t<W>, S>{
                                       weights[i].values.data(), size, of_slice.data()});
    sum += ordered_sum(exec, std::span<const S>(of_slice), scratch);
  }
  return sum;
}
template <Backend B, class S>
void normalise(B& backend, std::span<const Slice<S>> scores, double sum) {
  for (const auto& slice : scores) {
    backend.executor().for_each(
        slice.values.size(),
        kernel::Normalise<S>{static_cast<arithmetic_t<S>>(sum), slice.values.data()});
  }
  backend.executor().fence();
}

}  // namespace detail

/// Scores for `ByScore` by SNIP (Lee, Ajanthan and Torr, ICLR 2019, arXiv 1810.02340): |g w| over
/// the sum of them all, where g is the mean over ranks of `gradient`, of one batch each at
/// initialisation. All three are lists of slices (or one) of the same sizes; `scores` is written
/// to. The same bits on all ranks whose weights are alike. Collective; waits. Throws
/// `PreconditionError` for sizes that do not fit, on all ranks.
template <Backend B, Sliceable W, Sliceable G, Sliceable S>
void snip_scores(B& backend, W&& weights, G&& gradient, S&& scores) {
  with_slices(weights, [&](auto w) {
    with_slices(gradient, [&](auto g) {
      with_slices(scores, [&](auto s) {
        const double sum = detail::weigh(backend, w, g, s, true);
        if (sum > 0) detail::normalise(backend, s, sum);
      });
    });
  });
}

/// Scores for `ByScore` by GraSP (Wang, Zhang and Grosse, ICLR 2020, arXiv 2002.07376, as PacTrain
/// uses it). `hessian_gradient` is this rank's Hg: the product of its loss's Hessian with the mean
/// gradient over ranks (reduce that first, and hold it constant); it is averaged over ranks here.
///
/// GraSP's score is -w Hg, and what has the *highest* is removed. These are w Hg over the size of
/// their sum, so that `ByScore`, which keeps the highest, removes what GraSP removes: exactly the
/// wanted number, where the authors' code keeps one more. Otherwise as `snip_scores`.
template <Backend B, Sliceable W, Sliceable G, Sliceable S>
void grasp_scores(B& backend, W&& weights, G&& hessian_gradient, S&& scores) {
  with_slices(weights, [&](auto w) {
    with_slices(hessian_gradient, [&](auto g) {
      with_slices(scores, [&](auto s) {
        const double sum = detail::weigh(backend, w, g, s, false);
        detail::normalise(backend, s, std::abs(sum) + 1e-10);
      });
    });
  });
}

}  // namespace pactrain
