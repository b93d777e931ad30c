// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A saved state with bytes changed, cut or added, its checksum made to fit again: it is refused and
// changes nothing, or it is loaded and the reducer works.
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/pactrain.hpp>

#include <fuzz/input.hpp>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

constexpr std::size_t entries = 70;  // more than a word

template <class R>
std::string saved(R& reduce) {
  std::ostringstream out;
  reduce.save(out);
  return out.str();
}

/// `state` as the fuzzer wants it, with a checksum that fits.
std::string damaged(std::string state, FuzzInput input) {
  state.resize(state.size() - 8);
  const std::size_t cut = input.below(64);
  if (cut < 32) state.resize(state.size() - cut);
  while (!input.empty()) state[input.below(state.size())] = input.take<char>();

  std::uint64_t sum = 0xcbf29ce484222325u;
  for (const char byte : state) {
    sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  }
  for (int i = 0; i < 8; ++i) state += static_cast<char>(sum >> 8 * i & 0xff);
  return state;
}

template <class Policy, class Mask, class Codec, class Feedback>
void load_damaged(Policy policy, FuzzInput input) {
  HostBackend backend;
  SparseAllReduce<Policy, Mask, HostBackend, Codec, Feedback> reduce{backend, policy};
  std::vector<float> gradient(entries);
  for (std::size_t i = 0; i < entries; ++i) gradient[i] = static_cast<float>(i % 7) - 3.0f;
  reduce(gradient);
  const std::string before = saved(reduce);
  must(damaged(before, FuzzInput(nullptr, 0)) == before, "the checksum is computed as it is here");

  std::istringstream in(damaged(before, input));
  try {
    reduce.load(in);
  } catch (const StateError&) {
    must(saved(reduce) == before, "a refused state changes nothing");
  }
  try {
    must(reduce(gradient).kept <= entries, "a mask keeps no more than there is");
  } catch (const Error&) {  // a residual may have been loaded that is not finite
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  static const std::vector<float> weights(entries, 1.0f);
  switch (input.below(5)) {
    case 0:
      load_damaged<TopK, BitMask, Ternary, ErrorFeedback>({.k = 5}, input);
      break;
    case 1:
      load_damaged<TopK, IndexMask, Int8, ErrorFeedback>({.k = 5}, input);
      break;
    case 3:
      load_damaged<RandomPruning, BitMask, Adaptive<Ternary>, ErrorFeedback>({.sparsity = 0.5},
                                                                             input);
      break;
    case 2:
      load_damaged<GradualMagnitude, BlockMask<4>, Identity, NoFeedback>(
          {.weights = weights, .final_sparsity = 0.5, .begin = 0, .end = 4}, input);
      break;
    default:
      load_damaged<TrackZeros, BitMask, Identity, NoFeedback>({.patience = 1}, input);
  }
  return 0;
}
