// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace pactrain {

/// Seconds of one reduction: `before` and `after` on the caller's thread, at its start and at its
/// end; between them, while the caller may compute, `wire`, and `flow`, which its bytes take at the
/// link's rate.
struct Cost {
  double before = 0, wire = 0, flow = 0, after = 0;
  /// On a link whose burst is used up.
  [[nodiscard]] double total() const { return before + wire + flow + after; }
};

/// What a codec costs, for a value that it is given, on this machine.
struct CodecCost {
  std::string name = {};
  bool gathered = false;  ///< every rank gets all wires, instead of their sum
  double call = 0;        ///< seconds a call beyond a plain one: agreeing on scales, or on sizes
  double encode = 0;      ///< seconds a value
  double decode = 0;      ///< seconds a value, of each wire that is decoded
  double bytes = 4;       ///< of a wire, a value
};

/// A reduction whose cost is asked for. `kept` of its `entries` are packed.
struct ReductionSize {
  std::size_t entries = 0, kept = 0;
  std::size_t value_bytes = 4;
};

/// Predicts what one reduction takes on this machine and this network, for each candidate: number 0
/// is dense, 1 is packed, the others are packed and coded by `codecs`, in order. All numbers are
/// seconds and bytes, and of one rank; `calibrate` measures them, or the user gives them. With n
/// entries, k of them kept, P ranks and b bytes a value:
///
///     sum(S, v) = 2 * latency + v * add, and 2 * (P - 1) / P * S / rate of flow
///     dense     before call + n * copy           sum(n * b, n)    after n * write
///     packed    before call + n * pack           sum(k * b, k)    after n * unpack
///     summed    ... + k * encode     codec.call + sum(k * bytes, k)    ... + k * decode
///     gathered  ... + k * encode     codec.call + latency, and (P - 1) * k * bytes / rate of flow
///               ... + P * k * decode
///
/// `sum` is the cost of a reduce-scatter and an all-gather by shares (Thakur et al., 2005; the ring
/// of the what-if study, arXiv 2006.10103, with a latency): each rank sends all bytes but its share
/// twice, and P - 1 times a share of n / P values is added, which is n for large P. Of the flow,
/// the first `burst` bytes after a pause are free (`step_seconds`). One rank alone has no wire.
struct CostModel {
  double rate = 0;     ///< bytes a second that a rank sends while it receives as many
  double burst = 0;    ///< bytes that pass at once where the link was idle: a rate limiter's
  double latency = 0;  ///< seconds of a phase (a reduce-scatter, a gather) without bytes
  double call = 0;     ///< seconds that every call takes on the caller's thread
  double copy = 0;     ///< seconds an entry: a dense gradient into memory for the wire
  double write = 0;    ///< seconds an entry: the result into the gradient
  double pack = 0;     ///< seconds an entry: the kept ones into memory for the wire
  double unpack = 0;   ///< seconds an entry: the reverse, with zeros
  double add = 0;      ///< seconds a value that is added over ranks
  std::vector<CodecCost> codecs = {};

  static constexpr std::size_t dense = 0, packed = 1, first_codec = 2;

  [[nodiscard]] std::size_t candidates() const { return first_codec + codecs.size(); }
  /// "dense", "packed", or a codec's name.
  [[nodiscard]] std::string name(std::size_t candidate) const {
    if (candidate == dense) return "dense";
    if (candidate == packed) return "packed";
    const std::string& given = codecs[candidate - first_codec].name;
    return given.empty() ? "codec " + std::to_string(candidate - first_codec) : given;
  }
  /// What a reduction takes. Precondition: candidate < candidates(). Throws `PreconditionError`
  /// for a rate of 0 where there are several ranks.
  [[nodiscard]] Cost cost(std::size_t candidate, const ReductionSize& size, int ranks) const {
    expects(ranks == 1 || rate > 0,
            "the cost model has no rate (bytes a second); calibrate it, or give one");
    const auto n = static_cast<double>(size.entries), k = static_cast<double>(size.kept);
    const auto b = static_cast<double>(size.value_bytes), p = static_cast<double>(ranks);
    Cost cost{call + n * pack, 0, 0, n * unpack};
    double values = k, bytes = k * b;
    if (candidate == dense) {
      cost = {call + n * copy, 0, 0, n * write};
      values = n;
      bytes = n * b;
    }
    double phases = 2, sent = 2 * (p - 1) / p;
    if (candidate >= first_codec) {
      const CodecCost& codec = codecs[candidate - first_codec];
      cost.before += k * codec.encode;
      cost.after += (codec.gathered ? p : 1) * k * codec.decode;
      cost.wire = codec.call;
      bytes = k * codec.bytes;
      if (codec.gathered) {
        phases = 1;
        sent = p - 1;
        values = 0;
      }
    }
    if (ranks == 1) {
      cost.wire = 0;
      return cost;
    }
    cost.wire += phases * latency + values * add;
    cost.flow = sent * bytes / rate;
    return cost;
  }
};

/// Throws `PreconditionError` where a model cannot be: a number is negative or not finite, or the
/// rate is not above 0.
inline void expect_valid(const CostModel& model) {
  const auto fits = [](double x) { return std::isfinite(x) && x >= 0; };
  bool valid = fits(model.rate) && model.rate > 0;
  for (const double x : {model.burst, model.latency, model.call, model.copy, model.write,
                         model.pack, model.unpack, model.add}) {
    valid = valid && fits(x);
  }
  for (const CodecCost& codec : model.codecs) {
    valid =
        valid && fits(codec.call) && fits(codec.encode) && fits(codec.decode) && fits(codec.bytes);
  }
  expects(valid,
          "a number of the cost model is negative or not finite, or its rate is 0 (all are seconds "
          "or bytes of one rank); calibrate it, or give numbers from 0 on and a rate above 0");
}

}  // namespace pactrain
