// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Positions that peers send, by every way in which they travel, and led and united masks.
#include <pactrain/pactrain.hpp>

#include <fuzz/input.hpp>
#include <fuzz/reducer.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

using namespace pactrain;
using namespace pactrain::test;

namespace {

template <class P, class M, class Z = Identity, class Choice>
void fuzz(FuzzInput& input, Choice choice) {
  using R = SparseAllReduce<P, M, ReplayBackend, Z, ErrorFeedback>;
  fuzz_reducer(input, [choice](ReplayBackend& backend, const auto&) {
    if constexpr (std::is_constructible_v<R, ReplayBackend&, Choice>) return R(backend, choice);
    else return R(backend, P{.policy = choice});
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  const TopK top{.k = 9};
  switch (input.below(13)) {
    case 0:
      fuzz<Gathered<TopK>, IndexMask>(input, top);
      break;
    case 1:
      fuzz<Gathered<TopK>, BitMask, Int8>(input, top);
      break;
    case 2:
      fuzz<Gathered<TopK>, BloomMask>(input, top);
      break;
    case 3:
      fuzz<Gathered<NonZeroBlocks<4>>, BlockMask<4>>(input, NonZeroBlocks<4>{});
      break;
    case 4:
      fuzz<SparseStreams<TopK>, IndexMask>(input, top);
      break;
    case 5:
      fuzz<Hashed<TopK>, BitMask>(input, top);
      break;
    case 6:
      fuzz<Balanced<TopK>, IndexMask>(input, TopK{.k = 9, .scope = Scope::global});
      break;
    case 7:
      fuzz<TopK, IndexMask>(input, top);
      break;
    case 8:
      fuzz<TopK, BitMask>(input, top);
      break;
    case 9:
      fuzz<NonZeroBlocks<4>, BlockMask<4>>(input, NonZeroBlocks<4>{});
      break;
    case 10:
      fuzz<CyclicTopK, IndexMask>(input, CyclicTopK{.k = 9});
      break;
    case 11:
      fuzz<CyclicTopK, BitMask>(input, CyclicTopK{.k = 9});
      break;
    default:
      fuzz<Gathered<SIDCo>, IndexMask>(input, SIDCo{.fraction = 0.1});
  }
  return 0;
}
