// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/model.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace pactrain {

/// How a call's values travelled.
enum class Path {
  packed,   ///< the kept entries, by the codec
  uncoded,  ///< the kept entries as they are: coding would not pay, or not carry what is not finite
  dense,    ///< all entries: packing would not pay, or a learned mask was found wrong in this very
            ///< step
  local     ///< nothing had to travel: one rank
};

inline constexpr std::size_t path_count = 4;
constexpr const char* name_of(Path path) {
  constexpr const char* names[path_count] = {"packed", "uncoded", "dense", "local"};
  return names[static_cast<std::size_t>(path)];
}

/// Seconds of one call by stage, measured on the host (on an asynchronous executor: of queueing).
struct Stages {
  double keep = 0;        ///< policy, mask and agreement: next to nothing between revisions
  double pack = 0;        ///< feedback's compensation and packing
  double encode = 0;      ///< the codec, and its bounds
  double collective = 0;  ///< starting, progressing and waiting
  double decode = 0;      ///< the codec, and the check of the result
  double unpack = 0;      ///< into the gradient
  double commit = 0;      ///< residual and state

  [[nodiscard]] double total() const {
    return keep + pack + encode + collective + decode + unpack + commit;
  }
  /// Calls f(name, seconds) for each, in the order of a call.
  template <class F>
  void each(F f) const {
    f("keep", keep);
    f("pack", pack);
    f("encode", encode);
    f("collective", collective);
    f("decode", decode);
    f("unpack", unpack);
    f("commit", commit);
  }
  Stages& operator+=(const Stages& other) {
    keep += other.keep;
    pack += other.pack;
    encode += other.encode;
    collective += other.collective;
    decode += other.decode;
    unpack += other.unpack;
    commit += other.commit;
    return *this;
  }
};

/// What a call did. Bytes are this rank's.
struct Report {
  Step step = 0;
  std::size_t entries = 0;          ///< of the gradient
  std::size_t kept = 0;             ///< of these
  std::uint64_t payload_bytes = 0;  ///< the vector that was summed (a learned mask's flag included)
  /// As the communicator counted them: flags, bounds, unions of masks and agreement included.
  std::uint64_t bytes_sent = 0;
  std::uint64_t dense_bytes = 0;  ///< what the dense sum would have sent
  Path path = Path::packed;
  std::array<std::uint32_t, path_count> calls{};  ///< how many calls took each path
  bool non_finite = false;                        ///< an infinity or a NaN was seen, on some rank
  /// Entries that this rank's policy chose over entries that it aimed at, where it estimates.
  std::optional<double> quality{};
  Stages seconds{};

  /// Takes in what another call of the same step did. The path is the last in its list.
  Report& operator+=(const Report& other) {
    entries += other.entries;
    kept += other.kept;
    payload_bytes += other.payload_bytes;
    bytes_sent += other.bytes_sent;
    dense_bytes += other.dense_bytes;
    path = std::max(path, other.path);
    for (std::size_t i = 0; i < path_count; ++i) calls[i] += other.calls[i];
    non_finite = non_finite || other.non_finite;
    if (other.quality) quality = other.quality;
    seconds += other.seconds;
    return *this;
  }
};

/// Adds the bytes that a communicator sends during its lifetime to a count.
template <class C>
class SentMeter {
 public:
  SentMeter(const C& comm, std::uint64_t& bytes)
      : comm_(&comm), bytes_(&bytes), before_(comm.bytes_sent()) {}
  SentMeter(const SentMeter&) = delete;
  SentMeter& operator=(const SentMeter&) = delete;
  ~SentMeter() { *bytes_ += comm_->bytes_sent() - before_; }

 private:
  const C* comm_;
  std::uint64_t* bytes_;
  std::uint64_t before_;
};

/// Names a stage to the executor for its lifetime, if it wants to know: one that has
/// `begin_stage(name)` and `end_stage()`, for a profiler to show. Costs nothing elsewhere.
template <class E>
class StageRegion {
 public:
  StageRegion(E& exec, const char* name) : exec_(&exec) {
    if constexpr (told) exec_->begin_stage(name);
  }
  StageRegion(const StageRegion&) = delete;
  StageRegion& operator=(const StageRegion&) = delete;
  ~StageRegion() {
    if constexpr (told) exec_->end_stage();
  }

 private:
  static constexpr bool told = requires(E& exec, const char* name) {
    exec.begin_stage(name);
    exec.end_stage();
  };

  E* exec_;
};

/// Adds the seconds of its lifetime to a stage, and names it to the executor.
template <class E>
class StageTimer {
 public:
  StageTimer(E& exec, const char* name, double& seconds)
      : region_(exec, name), seconds_(&seconds), start_(std::chrono::steady_clock::now()) {}
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;
  ~StageTimer() {
    *seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  StageRegion<E> region_;
  double* seconds_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace pactrain
