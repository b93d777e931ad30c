// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/cuda/reduce.hpp>
#include <pactrain/kernel/bits.hpp>

#include <cstddef>
#include <cstdint>

/// The fast paths of bit masks: a team of 32 lanes takes one group of 512 positions, whose first
/// slot the mask's directory knows. Packed values pass through memory that the lanes share, so that
/// both sides are read and written by consecutive lanes; dense ones move 16 bytes a lane where
/// their address allows it.
namespace pactrain::gpu {

/// `width` values that are moved at once.
template <class T, unsigned width>
struct alignas(width * sizeof(T)) Packet {
  T at[width];
};
template <class T>
inline constexpr unsigned packet_width = 16 / sizeof(T);

/// A group's bits in halves of words, and the number of ones before each half.
struct GroupBits {
  static constexpr unsigned half = 32, halves = kernel::group_bits / half;
  std::uint32_t bits[halves];
  std::uint32_t before[halves + 1];

  PACTRAIN_FN std::uint32_t count() const { return before[halves]; }
  /// The bits of `width` entries from `entry` on.
  template <unsigned width>
  PACTRAIN_FN std::uint32_t of(unsigned entry) const {
    return bits[entry / half] >> entry % half & ((1u << width) - 1);
  }
  /// How many ones stand before `entry`.
  PACTRAIN_FN std::uint32_t slot(unsigned entry) const {
    const std::uint32_t below = bits[entry / half] & ((1u << entry % half) - 1);
    return before[entry / half] + static_cast<std::uint32_t>(__builtin_popcount(below));
  }
};

/// The positions [first, last) of a bit mask, cut at the edges of its groups.
struct GroupRun {
  kernel::Bits bits;
  std::size_t first, last;

  [[nodiscard]] std::size_t count() const {
    return (last - 1) / kernel::group_bits - first / kernel::group_bits + 1;
  }
  PACTRAIN_FN std::size_t begin(std::size_t index) const {
    return (first / kernel::group_bits + index) * kernel::group_bits;
  }
  PACTRAIN_FN bool holds(std::size_t position) const {
    return position >= first && position < last;
  }
  PACTRAIN_FN bool whole(std::size_t begin) const {
    return begin >= first && begin + kernel::group_bits <= last;
  }
  /// The slot of a group's first kept position in the run.
  PACTRAIN_FN std::size_t slot(std::size_t begin) const {
    return begin < first ? bits.slot(first) : bits.before[begin / kernel::group_bits];
  }
  /// Reads the bits of the group at `begin`; those outside of the run are zero.
  template <class Team>
  PACTRAIN_FN void read(Team team, std::size_t begin, GroupBits& group) const {
    team.each([&](unsigned lane) {
      if (lane >= GroupBits::halves) return;
      const std::size_t position = begin + lane * GroupBits::half;
      const std::size_t word = position / kernel::word_bits * kernel::word_bits;
      const bool inside = position < last && position + GroupBits::half > first;
      const kernel::Word ones =
          inside ? bits.word(word / kernel::word_bits) & kernel::between(word, first, last) : 0;
      group.bits[lane] = static_cast<std::uint32_t>(ones >> (position - word));
    });
    team.each([&](unsigned lane) {
      if (lane > GroupBits::halves) return;
      std::uint32_t sum = 0;
      for (unsigned h = 0; h < lane; ++h) {
        sum += static_cast<std::uint32_t>(__builtin_popcount(group.bits[h]));
      }
      group.before[lane] = sum;
    });
  }
};

/// What packing and unpacking share: entry 0 of `dense` is at position `run.first`, entry 0 of
/// `packed` is slot `base`. `whole_packets`: is every packet of a whole group aligned?
template <class T>
struct GroupShared {
  GroupBits bits;
  alignas(16) std::byte values[kernel::group_bits * sizeof(T)];
  PACTRAIN_FN T* staged() { return reinterpret_cast<T*>(values); }
};

/// Calls `f(entry)` for a lane's packets in a group.
template <unsigned width, unsigned lanes, class F>
PACTRAIN_FN void for_packets(unsigned lane, F f) {
  for (unsigned i = 0; i < kernel::group_bits / (lanes * width); ++i) {
    f(i, (i * lanes + lane) * width);
  }
}

/// The kept values of a group go to their slots. Where `non_finite` is not null it is raised if any
/// value, kept or not, is an infinity or a NaN; where it is null, only what is kept is read.
template <class T>
struct PackGroup {
  static constexpr unsigned lanes = 32;
  using Shared = GroupShared<T>;
  GroupRun run;
  const T* dense;
  T* packed;
  std::size_t base;
  std::uint32_t* non_finite;
  bool whole_packets;

  template <class Team>
  PACTRAIN_FN void operator()(Team team, std::size_t index, Shared& shared) const {
    const std::size_t begin = run.begin(index);
    run.read(team, begin, shared.bits);
    if (whole_packets && run.whole(begin)) stage<packet_width<T>>(team, begin, shared);
    else stage<1>(team, begin, shared);
    T* const out = packed + (run.slot(begin) - base);
    team.each([&](unsigned lane) {
      for (unsigned i = lane; i < shared.bits.count(); i += lanes) out[i] = shared.staged()[i];
    });
  }

 private:
  template <unsigned width, class Team>
  PACTRAIN_FN void stage(Team team, std::size_t begin, Shared& shared) const {
    using Values = Packet<T, width>;
    team.each([&](unsigned lane) {
      Values values[kernel::group_bits / (lanes * width)];
      bool found = false;
      for_packets<width, lanes>(lane, [&](unsigned i, unsigned entry) {
        if (width == 1 && !run.holds(begin + entry)) return;
        if (non_finite == nullptr && shared.bits.template of<width>(entry) == 0) return;
        values[i] = *reinterpret_cast<const Values*>(dense + (begin + entry - run.first));
        for (const T& x : values[i].at) found |= non_finite != nullptr && !is_finite(x);
      });
      for_packets<width, lanes>(lane, [&](unsigned i, unsigned entry) {
        T* out = shared.staged() + shared.bits.slot(entry);
        const std::uint32_t kept = shared.bits.template of<width>(entry);
        for (unsigned j = 0; j < width; ++j) {
          if ((kept >> j & 1) != 0) *out++ = values[i].at[j];
        }
      });
      if (found) team.raise(non_finite);
    });
  }
};

/// The values in a group's slots go to their positions, and zeros everywhere else.
template <class T>
struct UnpackGroup {
  static constexpr unsigned lanes = 32;
  using Shared = GroupShared<T>;
  GroupRun run;
  const T* packed;
  std::size_t base;
  T* dense;
  bool whole_packets;

  template <class Team>
  PACTRAIN_FN void operator()(Team team, std::size_t index, Shared& shared) const {
    const std::size_t begin = run.begin(index);
    run.read(team, begin, shared.bits);
    const T* const in = packed + (run.slot(begin) - base);
    team.each([&](unsigned lane) {
      for (unsigned i = lane; i < shared.bits.count(); i += lanes) shared.staged()[i] = in[i];
    });
    if (whole_packets && run.whole(begin)) spread<packet_width<T>>(team, begin, shared);
    else spread<1>(team, begin, shared);
  }

 private:
  template <unsigned width, class Team>
  PACTRAIN_FN void spread(Team team, std::size_t begin, Shared& shared) const {
    using Values = Packet<T, width>;
    team.each([&](unsigned lane) {
      for_packets<width, lanes>(lane, [&](unsigned, unsigned entry) {
        if (width == 1 && !run.holds(begin + entry)) return;
        const T* from = shared.staged() + shared.bits.slot(entry);
        const std::uint32_t kept = shared.bits.template of<width>(entry);
        Values values;
        for (unsigned j = 0; j < width; ++j) values.at[j] = (kept >> j & 1) != 0 ? *from++ : T{};
        *reinterpret_cast<Values*>(dense + (begin + entry - run.first)) = values;
      });
    });
  }
};

/// Raises `stray` if a value of the group that is not kept differs from zero.
template <class T>
struct StrayGroup {
  static constexpr unsigned lanes = 32;
  using Shared = GroupBits;
  GroupRun run;
  const T* dense;
  std::uint32_t* stray;
  bool whole_packets;

  template <class Team>
  PACTRAIN_FN void operator()(Team team, std::size_t index, Shared& shared) const {
    const std::size_t begin = run.begin(index);
    run.read(team, begin, shared);
    if (whole_packets && run.whole(begin)) look<packet_width<T>>(team, begin, shared);
    else look<1>(team, begin, shared);
  }

 private:
  template <unsigned width, class Team>
  PACTRAIN_FN void look(Team team, std::size_t begin, Shared& shared) const {
    using Values = Packet<T, width>;
    team.each([&](unsigned lane) {
      bool found = false;
      for_packets<width, lanes>(lane, [&](unsigned, unsigned entry) {
        if (width == 1 && !run.holds(begin + entry)) return;
        const std::uint32_t kept = shared.template of<width>(entry);
        if (kept == (1u << width) - 1) return;
        const Values values = *reinterpret_cast<const Values*>(dense + (begin + entry - run.first));
        for (unsigned j = 0; j < width; ++j) {
          found |= (kept >> j & 1) == 0 && magnitude(values.at[j]) != 0;
        }
      });
      if (found) team.raise(stray);
    });
  }
};

/// Raises `flag` if a value of a piece is an infinity or a NaN.
template <class T>
struct FinitePiece {
  static constexpr unsigned lanes = 256;
  struct Shared {};
  Pieces pieces;
  const T* values;
  std::uint32_t* flag;
  bool whole_packets;

  template <class Team>
  PACTRAIN_FN void operator()(Team team, std::size_t piece, Shared&) const {
    constexpr unsigned width = packet_width<T>;
    using Values = Packet<T, width>;
    const T* const x = values + pieces.begin(piece);
    const std::size_t size = pieces.size(piece);
    const std::size_t by_packets = whole_packets ? size / width * width : 0;
    team.each([&](unsigned lane) {
      bool found = false;
      for (std::size_t i = std::size_t{lane} * width; i < by_packets; i += lanes * width) {
        const Values packet = *reinterpret_cast<const Values*>(x + i);
        for (const T& value : packet.at) found |= !is_finite(value);
      }
      for (std::size_t i = by_packets + lane; i < size; i += lanes) found |= !is_finite(x[i]);
      if (found) team.raise(flag);
    });
  }
};

}  // namespace pactrain::gpu
