// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pactrain {

/// Values that go to one rank: `size` of them from `first` on, and the parameters they are of.
struct ShareBlock {
  std::size_t rank = 0, first = 0, size = 0;
  std::vector<PackedPart> parts;
};

/// Who owns what of a packed vector in a coded reduce-scatter. Each parameter is cut into as many
/// shares as there are ranks (`share_of`), so that what shares a scale is the same for every
/// bucketing. Values are ordered by owner: by the owner's place in its node, then by node, so that
/// what goes to one peer lies together in both hops. Without nodes there is one hop.
class Shares {
 public:
  /// `node`: ranks of a node, which follow each other; 0 for one hop over all.
  void lay_out(std::span<const PackedPart> parts, int rank, int ranks, int node) {
    if (std::ranges::equal(parts, parts_) && !hops_.empty()) return;
    expects(node == 0 || ranks % node == 0, [&] {
      return "a node has " + std::to_string(node) + " ranks, and there are " +
             std::to_string(ranks) + " in all (nodes are to be alike); choose a divisor, or 0";
    });
    parts_.assign(parts.begin(), parts.end());
    const int local = node == 0 ? ranks : node, nodes = ranks / local;
    runs_.clear();
    hops_.assign(nodes > 1 ? 2 : 1, {});
    all_.assign(static_cast<std::size_t>(ranks), {});
    std::size_t at = 0;
    for (int place = 0; place < local; ++place) {
      ShareBlock to_peer;
      to_peer.rank = static_cast<std::size_t>(rank / local * local + place);
      to_peer.first = at;
      for (int group = 0; group < nodes; ++group) {
        const int owner = group * local + place;
        ShareBlock& share = all_[static_cast<std::size_t>(owner)];
        share = {static_cast<std::size_t>(owner), at, 0, {}};
        for (std::size_t i = 0; i < parts_.size(); ++i) {
          const Share cut = share_of(parts_[i].size, owner, ranks);
          if (cut.size() == 0) continue;
          // Numbers that no two shares under one call have in common, for random draws.
          const std::size_t number = parts_[i].part + static_cast<std::size_t>(group) * 0x100000u;
          share.parts.push_back({number, share.size, cut.size()});
          to_peer.parts.push_back({number, to_peer.size, cut.size()});
          runs_.push_back({parts_[i].first + cut.begin, at, cut.size()});
          share.size += cut.size();
          to_peer.size += cut.size();
          at += cut.size();
        }
      }
      hops_[0].push_back(to_peer);
    }
    if (nodes == 1) return;
    const int place = rank % local;
    const std::size_t begin = hops_[0][static_cast<std::size_t>(place)].first;
    for (int group = 0; group < nodes; ++group) {
      ShareBlock share = all_[static_cast<std::size_t>(group * local + place)];
      share.first -= begin;
      hops_[1].push_back(std::move(share));
    }
  }

  [[nodiscard]] int hops() const { return static_cast<int>(hops_.size()); }
  /// What this rank sends in a hop, by peer, as places in the values that the hop starts from.
  [[nodiscard]] std::span<const ShareBlock> hop(int i) const {
    return hops_[static_cast<std::size_t>(i)];
  }
  /// The share of every rank, as places in the ordered vector.
  [[nodiscard]] std::span<const ShareBlock> all() const { return all_; }

  template <Executor E, class V>
  void order(E& exec, std::span<const V> packed, std::span<V> ordered) const {
    for (const Run& run : runs_) {
      exec.copy(packed.subspan(run.packed, run.size), ordered.subspan(run.ordered, run.size));
    }
  }
  template <Executor E, class V>
  void restore(E& exec, std::span<const V> ordered, std::span<V> packed) const {
    for (const Run& run : runs_) {
      exec.copy(ordered.subspan(run.ordered, run.size), packed.subspan(run.packed, run.size));
    }
  }

 private:
  struct Run {
    std::size_t packed, ordered, size;
  };

  std::vector<PackedPart> parts_;
  std::vector<Run> runs_;
  std::vector<std::vector<ShareBlock>> hops_;
  std::vector<ShareBlock> all_;
};

}  // namespace pactrain
