// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a user's profiler sees of a call. Run with KOKKOS_TOOLS_LIBS=<tool.cpp as a library>.
#include <kokkos/world.hpp>

#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/kokkos/backend.hpp>
#include <pactrain/pactrain.hpp>

#include <Kokkos_Core.hpp>
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

/// What the tool has been told so far.
std::string tool_log() {
  const char* const path = std::getenv("KOKKOS_TOOLS_LIBS");
  REQUIRE(path != nullptr);
  void* const library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  REQUIRE_MESSAGE(library != nullptr, "Kokkos has not loaded the tool");
  using Log = const char*();
  return reinterpret_cast<Log*>(dlsym(library, "pactrain_tool_log"))();
}

struct Seen {
  std::vector<std::string> regions, kernels;
  std::size_t fences = 0;  ///< of pactrain's: some of Kokkos' spaces wait for each of their kernels
  int open = 0;

  explicit Seen(const std::string& log) {
    std::istringstream lines(log);
    for (std::string word, name; lines >> word;) {
      if (word == "end") --open;
      if (word == "begin") ++open;
      if (word != "end") std::getline(lines >> std::ws, name);
      if (word == "begin") regions.push_back(name);
      if (word == "kernel") kernels.push_back(name);
      if (word == "fence" && name == "pactrain::fence") ++fences;
      CHECK(open >= 0);
    }
  }
  [[nodiscard]] static bool has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
};

}  // namespace

TEST_CASE("a profiler sees the stages of a call and its kernels by name") {
  KokkosBackend<Space, ThreadCommunicator> backend;
  std::vector<float> weights(1000), gradient(1000, 1.0f);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i);
  SparseAllReduce<OneShotMagnitude, BitMask, decltype(backend), Int8, ErrorFeedback> reduce{
      backend, {.weights = weights, .sparsity = 0.9}};
  const std::string before = tool_log();
  reduce(gradient);
  const Seen seen(tool_log().substr(before.size()));

  std::vector<std::string> stages;
  for (const std::string& region : seen.regions) {
    if (!Seen::has(stages, region)) stages.push_back(region);
  }
  CHECK(seen.open == 0);
  CHECK(stages == std::vector<std::string>{"pactrain::pack", "pactrain::keep", "pactrain::assign",
                                           "pactrain::encode", "pactrain::collective",
                                           "pactrain::decode", "pactrain::unpack",
                                           "pactrain::commit"});
  for (const char* const kernel : {"pactrain::Compress<float>", "pactrain::Expand<float>"}) {
    CHECK(Seen::has(seen.kernels, kernel));
  }
  for (const std::string& kernel : seen.kernels) {
    CAPTURE(kernel);
    CHECK(kernel.starts_with("pactrain::"));
    CHECK(kernel.find("::", 10) == std::string::npos);
  }
}

/// Before ranks meet, to read a flag, and at the end. Kokkos 3.4 does not tell of fences.
TEST_CASE("with a mask that stays, a call waits three times at most") {
  KokkosBackend<Space, ThreadCommunicator> backend;
  const std::vector<float> weights(1000, 1.0f);
  std::vector<float> gradient = weights;
  SparseAllReduce<RandomPruning, BitMask, decltype(backend), Cast<bfloat16>> reduce{
      backend, {.weights = weights, .sparsity = 0.5}};
  for (int call = 0; call < 2; ++call) reduce(gradient);
  const std::string before = tool_log();
  reduce(gradient);
  CHECK(Seen(tool_log().substr(before.size())).fences <= 3);
}

TEST_CASE("a label names the functor without its namespaces") {
  CHECK(kokkos::without_namespaces("float") == "float");
  CHECK(kokkos::without_namespaces("a::b::C<a::D<long int>, (anonymous namespace)::E>") ==
        "C<D<long int>, E>");
  CHECK(kokkos::without_namespaces("a::F<a::on<b::E<c::S>, 4>::Keep, a::f(int, long)::Local>") ==
        "F<Keep, Local>");
  CHECK(kokkos::label<kernel::Fill<float>>() == "pactrain::Fill<float>");
}
