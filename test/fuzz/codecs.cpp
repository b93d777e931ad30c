// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that peers send, as every codec writes them.
#include <pactrain/pactrain.hpp>

#include <fuzz/input.hpp>
#include <fuzz/reducer.hpp>

#include <cstddef>
#include <cstdint>

using namespace pactrain;
using namespace pactrain::test;

namespace {

template <class Z, class F = ErrorFeedback>
void fuzz(FuzzInput& input, Z codec = {}) {
  fuzz_reducer(input, [codec](ReplayBackend& backend, const auto&) {
    return DenseAllReduce<ReplayBackend, Z, F>(backend, {}, codec);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  switch (input.below(15)) {
    case 0:
      fuzz<Int8>(input);
      break;
    case 1:
      fuzz<Int4>(input);
      break;
    case 2:
      fuzz<Sign>(input);
      break;
    case 3:
      fuzz<QSGD>(input);
      break;
    case 4:
      fuzz<Natural>(input);
      break;
    case 5:
      fuzz<MinMax>(input);
      break;
    case 6:
      fuzz<Ternary>(input);
      break;
    case 7:
      fuzz<Cast<float16>>(input);
      break;
    case 8:
      fuzz<Scattered<Int4>>(input);
      break;
    case 9:
      fuzz<Sharded<Int8>>(input);
      break;
    case 10:
      fuzz<Pipeline<RandomisedHadamard, NormalHomomorphic>>(input);
      break;
    case 11:
      fuzz<LowRank>(input);
      break;
    case 12:
      fuzz<Sketch, NoFeedback>(input);
      break;
    case 13:
      fuzz<Sketch, NoFeedback>(input, Sketch{.index = SketchIndexKind::bloom});
      break;
    default:
      fuzz<Sketch, NoFeedback>(input, Sketch{.cells = SketchCells::floating});
  }
  return 0;
}
