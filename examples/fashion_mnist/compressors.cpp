// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reducer.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace demo {

const std::vector<Compressor>& compressors() {
  static const std::vector<Compressor> all = [] {
    std::vector<Compressor> every;
    for (const auto& family :
         {dense_compressors(), coded_compressors(), pruned_compressors(), scored_compressors(),
          sparse_compressors(), selected_compressors(), overlapped_compressors()}) {
      every.insert(every.end(), family.begin(), family.end());
    }
    return every;
  }();
  return all;
}

const Compressor& compressor(const std::string& name) {
  const auto found = std::ranges::find(compressors(), name, &Compressor::name);
  if (found == compressors().end()) throw std::runtime_error("there is no compressor " + name);
  return *found;
}

}  // namespace demo
