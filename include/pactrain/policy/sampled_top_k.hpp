// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/ties.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/random.hpp>
#include <pactrain/policy/cut_lines.hpp>
#include <pactrain/policy/exempt.hpp>
#include <pactrain/policy/fraction.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/policy/threshold_bits.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pactrain {

namespace kernel {
/// out[j] = x[first + j * stride].
template <class T>
struct Sample {
  const T* x;
  std::size_t first, stride;
  T* out;
  PACTRAIN_FN void operator()(std::size_t j) const { out[j] = x[first + j * stride]; }
};
/// Keeps what lies above a cut at indices below `end`.
template <class T>
struct KeepLargestBelow {
  KeepLargest<T> largest;
  std::size_t end;
  PACTRAIN_FN bool operator()(std::size_t i) const { return i < end && largest(i); }
  /// The answers for 64 entries.
  PACTRAIN_FN Word word_at(std::size_t i) const {
    if (i + word_bits <= end) return kept_word(largest, i);
    return i < end ? word_of_answers(*this, i) : 0;
  }
};
}  // namespace kernel

/// Keeps about the largest gradient entries of this rank, by a threshold from a sample: Deep
/// Gradient Compression (Lin, Han, Mao, Wang and Dally, ICLR 2018, arXiv 1712.01887), as its code
/// does it. With `MomentumFeedback` that is the whole of the method.
///
/// Of each parameter every so many-th entry is sampled, from a random one on (a function of seed,
/// parameter and step), and the threshold is what would keep the wanted share of the sample. Where
/// it keeps more than `upper` times the k wanted entries, exactly the k largest are kept; where
/// less than `lower` times, it is lowered by `lower`, up to `rounds` times; and never more than k
/// are kept: the first ones. k is max(1, floor(fraction * n)) (`kept_of`; the code rounds up).
///
/// A `warm_up` of larger fractions comes first, `warm_up_steps` steps each. What is not kept waits
/// in the residual, where there is one. `Report::quality` is how many passed the threshold over k.
/// Throws `PreconditionError`: options outside the ranges below, an unknown exempt name.
struct SampledTopK {
  double fraction = 0;               ///< the share that is kept, in (0, 1]
  double sample = 0.01;              ///< the share that is looked at, at least 2 / fraction
  double lower = 0.8;                ///< in (0, 1)
  double upper = 1.3;                ///< at least 1
  std::size_t rounds = 10;           ///< how often a threshold may be lowered
  std::uint64_t seed = 0;            ///< of where samples begin
  std::vector<double> warm_up = {};  ///< fractions of the first steps
  Step warm_up_steps = 0;            ///< how long each of them is used
  std::vector<std::string> exempt =
      {};  ///< parts kept whole: the code's are those of one dimension

  static constexpr Support support = Support::local;
  static constexpr Unkept unkept = Unkept::remembered;
  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint options;
    options(fraction)(sample)(lower)(upper)(rounds)(seed)(warm_up_steps)(warm_up.size());
    for (const double early : warm_up) options(early);
    add_names(options, exempt);
    return options.value();
  }
  /// The fraction that counts at `step`.
  [[nodiscard]] double fraction_at(Step step) const {
    if (warm_up.empty()) return fraction;
    const Step stage = step / warm_up_steps;
    return stage < warm_up.size() ? warm_up[stage] : fraction;
  }
  /// `stages` fractions that fall geometrically to `fraction`, as in the code: c, c^2, ... with
  /// c = fraction^(1 / (stages + 1)). The paper's are {0.25, 0.0625, 0.015625, 0.004} for 0.001.
  [[nodiscard]] static std::vector<double> falling(double fraction, std::size_t stages) {
    std::vector<double> early;
    for (std::size_t e = 1; e <= stages; ++e) {
      const double power = static_cast<double>(e) / static_cast<double>(stages + 1);
      early.push_back(std::max(std::pow(fraction, power), fraction));
    }
    return early;
  }

  template <Executor E>
  class on;
};

template <Executor E>
class SampledTopK::on {
 public:
  explicit on(const SampledTopK& options) : options_(options) {
    expects_fraction(options.fraction);
    for (const double early : options.warm_up) expects_fraction(early);
    expects(options.warm_up.empty() || options.warm_up_steps > 0,
            "the fractions of the warm-up are used for 0 steps each; choose warm_up_steps >= 1");
    expects(options.sample > 0 && options.sample <= 1, [&] {
      return "the sample is " + std::to_string(options.sample) +
             " (the share of entries that is looked at); choose one in (0, 1]";
    });
    expects(options.lower > 0 && options.lower < 1 && options.upper >= 1, [&] {
      return "the bounds are " + std::to_string(options.lower) + " and " +
             std::to_string(options.upper) +
             " (of chosen over wanted entries); choose them around 1, as 0.8 and 1.3";
    });
  }

  [[nodiscard]] std::uint64_t revision(Step) const { return 0; }
  template <class T>
  void prepare(E& exec, const Model& model, std::span<const Piece<T>> gradient, Step step) {
    const double share = options_.fraction_at(step);
    CutLines lines;
    lines.begin(model.parts().size());
    std::vector<std::size_t> ends(model.parts().size(), everywhere);
    std::size_t wanted = 0, chosen = 0;
    each_group(gradient, exempt_parts(model, options_.exempt), false,
               [&](std::span<const Piece<T>> pieces, std::size_t part) {
                 const std::size_t n = entries_of(pieces), k = kept_of(n, share);
                 if (k == n) return;
                 wanted += k;
                 chosen += choose(exec, pieces, n, k, share, step, lines, ends[part]);
               });
    lines_ = std::move(lines);
    ends_ = std::move(ends);
    quality_.reset();
    if (wanted > 0) quality_ = static_cast<double>(chosen) / static_cast<double>(wanted);
  }
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    const std::size_t end = std::max(ends_[piece.part], piece.first) - piece.first;
    return kernel::KeepLargestBelow<std::remove_const_t<T>>{lines_.keep(piece), end};
  }
  /// How many passed the thresholds over how many were wanted, in the decision prepared last.
  [[nodiscard]] std::optional<double> quality() const { return quality_; }

 private:
  static constexpr std::size_t everywhere = std::numeric_limits<std::size_t>::max();

  /// The distance between sampled entries: one more than a multiple of 32, so that it follows no
  /// row of a matrix, and less where the sample would be too small.
  [[nodiscard]] std::size_t stride_of(std::size_t n, double share) const {
    const double least = std::max(std::ceil(double(n) * options_.sample), std::ceil(2 / share));
    if (double(n) <= least) return 1;
    auto stride = static_cast<std::size_t>(std::ceil(double(n) / least / 32)) * 32 + 1;
    while (stride > 1 && double(n / stride) < least) stride -= std::min<std::size_t>(8, stride - 1);
    return stride;
  }
  /// Every so many-th magnitude of one parameter. Returns how many.
  template <class T>
  std::size_t take_sample(E& exec, std::span<const Piece<T>> pieces, std::size_t n, double share,
                          Step step) {
    using V = std::remove_const_t<T>;
    const std::size_t stride = stride_of(n, share);
    const auto words = random_words({kernel::mix(options_.seed, 's'), step}, pieces[0].part, 0);
    const std::size_t start = words[0] % stride;
    const auto count_below = [&](std::size_t at) {
      return at <= start ? 0 : (at - start - 1) / stride + 1;
    };
    const std::size_t all = std::max<std::size_t>(1, count_below(n));
    const auto picked = sample_.template take<V>(exec, all);
    for (const Piece<T>& piece : pieces) {
      const std::size_t from = count_below(piece.at), to = count_below(piece.at + piece.size);
      if (from == to) continue;
      exec.for_each(to - from, kernel::Sample<V>{piece.data, start + from * stride - piece.at,
                                                 stride, picked.data() + from});
    }
    return count_below(n);
  }
  /// The line of one parameter; returns how many passed the threshold. Waits.
  template <class T>
  std::size_t choose(E& exec, std::span<const Piece<T>> pieces, std::size_t n, std::size_t k,
                     double share, Step step, CutLines& lines, std::size_t& end) {
    using V = std::remove_const_t<T>;
    const std::size_t sampled = take_sample(exec, pieces, n, share, step);
    const Ranked<V> picked{sample_.template view<V>(sampled), {}};
    const auto of_sample = static_cast<std::size_t>(std::ceil(double(sampled) * share));
    bits_t<V> bar = 0;
    if (sampled > 0) {
      bar = kth_largest(exec, std::span(&picked, 1), std::max<std::size_t>(1, of_sample), scratch_)
                .bar;
    }
    std::vector<Ranked<V>> runs;
    for (const Piece<T>& piece : pieces) runs.push_back({piece.values(), {}});
    const std::span<const Ranked<V>> all(runs);
    const auto passes = [&bar](const Ranked<V>& run) {
      return kernel::CountAtLeast<V>{run.values.data(), run.among, bar};
    };
    std::size_t passed = detail::count_all(exec, all, scratch_, passes);
    for (std::size_t round = 0; round < options_.rounds && bar > 0; ++round) {
      if (static_cast<double>(passed) >= options_.lower * static_cast<double>(k)) break;
      const double value = static_cast<double>(static_cast<arithmetic_t<V>>(bits_as<V>(bar)));
      bar = std::isfinite(value) ? greatest_bits<V>(value * options_.lower) : exponent_mask<V> - 1;
      passed = detail::count_all(exec, all, scratch_, passes);
    }
    if (static_cast<double>(passed) > options_.upper * static_cast<double>(k)) {
      lines.set_largest(exec, pieces, k, scratch_);
    } else {
      if (bar > 0) lines.set(pieces[0].part, bar - 1);
      if (passed <= k) return passed;
      std::vector<std::size_t> below(runs.size());
      keep_first(exec, all, passes, k, std::span(below), scratch_);
      for (std::size_t i = pieces.size(); i-- > 0;) {
        if (below[i] < pieces[i].size) end = pieces[i].first + below[i];
      }
    }
    return passed;
  }

  SampledTopK options_;
  CutLines lines_;
  std::vector<std::size_t> ends_;  ///< positions from which on nothing is kept, by part
  std::optional<double> quality_;
  Scratch<E> sample_, scratch_;
};

}  // namespace pactrain
