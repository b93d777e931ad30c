// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any file: what `pactrain_whatif` reads is refused with a sentence, or is a study that holds.
#include <pactrain/cost/what_if.hpp>

#include <fuzz/input.hpp>
#include <whatif/measured.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

using namespace pactrain;
using namespace pactrain::test;

namespace {

/// Whole files come seldom from bytes alone: the first says what stands around the rest.
std::string file_of(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return {};
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string rows =
      R"([{"ph":"M","pid":1,"tid":0,"name":"thread_name","args":{"name":"ready"}},)"
      R"({"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"computing"}},)";
  switch (data[0] % 4) {
    case 0:
      return "bytes,ready_ms\n" + rest;
    case 1:
      return rows + R"({"ph":"X","pid":1,"tid":0,"name":"a","ts":1,"args":{)" + rest + "}}]";
    case 2:
      return rows + rest + "]";
    default:
      return rest;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream in(file_of(data, size));
  try {
    const tools::Measured measured = tools::read_measured(in);
    must(!measured.layers.empty(), "a study has gradients");
    const WhatIf result = what_if(measured.layers, {.ranks = 4, .rate = 1e9});
    const double factor = result.scaling_factor(1);
    must(std::isfinite(result.overhead()) && result.overhead() > 0, "and waits for the last");
    must(factor > 0 && factor < 1, "and scales by less than its ranks");
  } catch (const tools::InputError& error) {
    must(std::string(error.what()).size() > 10, "a refusal is a sentence");
  }
  return 0;
}
