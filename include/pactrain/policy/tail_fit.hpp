// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/kernel/moments.hpp>

#include <cmath>

namespace pactrain {

/// The distributions that magnitudes of gradients are taken for (SIDCo, arXiv 2101.10761, table of
/// thresholds). Later stages of `gamma` fit a generalised Pareto tail, as the official code does.
enum class Fit {
  exponential,
  generalised_pareto,
  gamma,             ///< with the exact quantile
  gamma_closed_form  ///< with the paper's approximation of it, which is poor: 0.02 to 8 times off
};

/// What a fit is made from: moments of the magnitudes, or of what they exceed a threshold by.
struct TailMoments {
  double mean = 0;
  double variance = 0;  ///< the unbiased estimate
  double mean_log = 0;  ///< of the logarithm; for gamma alone

  [[nodiscard]] static TailMoments of(const kernel::Moments& sums) {
    const auto n = static_cast<double>(sums.count);
    const double mean = sums.sum / n;
    const double variance = sums.count > 1 ? (sums.squares - n * mean * mean) / (n - 1) : 0.0;
    return {mean, variance, sums.logs / n};
  }
};

namespace detail {

/// ln Gamma(x) for x > 0: Stirling's series, after recurrence to x >= 8. (std::lgamma writes to a
/// global variable.)
inline double log_gamma(double x) {
  double shift = 0;
  for (; x < 8; ++x) shift += std::log(x);
  const double y = 1 / (x * x);
  const double series =
      (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y / 1188)))) / x;
  return (x - 0.5) * std::log(x) - x + 0.91893853320467274 + series - shift;
}

/// The regularised upper incomplete gamma function Q(a, x), by series or continued fraction.
inline double upper_gamma(double a, double x) {
  if (x <= 0) return 1;
  const double scale = std::exp(a * std::log(x) - x - log_gamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int i = 1; i < 1000 && term > sum * 1e-17; ++i) sum += term *= x / (a + i);
    return 1 - scale * sum;
  }
  constexpr double tiny = 1e-300;  // Lentz's method
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;
  for (int i = 1; i < 1000; ++i) {
    const double an = -i * (i - a);
    b += 2;
    d = an * d + b;
    c = b + an / c;
    d = 1 / (std::abs(d) < tiny ? tiny : d);
    c = std::abs(c) < tiny ? tiny : c;
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return scale * h;
}

/// Where Q(a, x) falls to `delta`, by bisection.
inline double gamma_quantile(double a, double delta) {
  double low = 0, high = a + 1;
  while (upper_gamma(a, high) > delta && high < 1e6) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (upper_gamma(a, middle) > delta ? low : high) = middle;
  }
  return high;
}

}  // namespace detail

/// What a value of the fitted distribution exceeds with probability `delta`, 0 < delta < 1; not
/// finite where the moments allow no fit. It scales with the data. Generalised Pareto becomes the
/// exponential where mean^2 = variance.
[[nodiscard]] inline double tail_quantile(Fit fit, const TailMoments& moments, double delta) {
  const double mean = moments.mean, variance = moments.variance;
  if (fit == Fit::exponential) return -mean * std::log(delta);
  if (fit == Fit::generalised_pareto) {
    if (!(variance > 0)) return mean;  // they are all alike
    const double ratio = mean * mean / variance;
    const double shape = 0.5 * (1 - ratio), scale = 0.5 * mean * (ratio + 1);
    // (delta^-shape - 1) / shape without the cancellation near 0, where it is -ln delta.
    const double power = -shape * std::log(delta);
    return std::abs(power) < 1e-12 ? -scale * std::log(delta) : scale / shape * std::expm1(power);
  }
  const double s = std::log(mean) - moments.mean_log;
  if (!(s > 0)) return mean;
  const double shape = (3 - s + std::sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s);
  const double scale = mean / shape;
  if (fit == Fit::gamma) return scale * detail::gamma_quantile(shape, delta);
  return -scale * (std::log(delta) + detail::log_gamma(shape));
}

}  // namespace pactrain
