// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States in files, which are the old ones or the new ones, whole.
#include <pipeline/support.hpp>

#include <pactrain/checkpoint.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/policy/top_k.hpp>

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::contains;
using reducer::saved;

namespace {

namespace fs = std::filesystem;
using R = OnThreads<TopK, BitMask, Identity, ErrorFeedback>;

/// A directory that goes when the test ends.
struct Directory {
  fs::path path = fs::temp_directory_path() / ("pactrain_checkpoint_" + std::to_string(::getpid()));
  Directory() { fs::create_directories(path); }
  ~Directory() { fs::remove_all(path); }
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(path)) ++count;
    return count;
  }
};

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}
template <class F>
std::string refusal_of(F f) {
  try {
    f();
  } catch (const StateError& error) {
    return error.what();
  }
  return "nothing was refused";
}

/// A state that fails in the middle, as on a full disk.
struct Failing {
  void save(std::ostream& out) {
    out << "half of a sta";
    throw StateError("pactrain: no more");
  }
};

}  // namespace

TEST_CASE("a file holds what is saved, and is replaced as a whole or not at all") {
  const Directory directory;
  const fs::path file = directory.path / "rank0";
  HostBackend backend;
  R reduce{backend, {.k = 3}}, again{backend, {.k = 3}};
  std::vector<float> x = values_of<float>(0, 50);
  reduce(x);
  save_file(file, reduce);
  const std::string first = saved(reduce);
  CHECK(bytes_of(file) == first);
  reduce(x);
  save_file(file, reduce);
  CHECK(bytes_of(file) == saved(reduce));
  CHECK(bytes_of(file) != first);
  load_file(file, again);
  CHECK(saved(again) == saved(reduce));

  const std::string before = bytes_of(file);
  Failing failing;
  CHECK(refusal_of([&] { save_file(file, failing); }) == "pactrain: no more");
  CHECK(bytes_of(file) == before);
  CHECK(directory.files() == 1);
}

TEST_CASE("a file that cannot be written or read is named, with the system's reason") {
  const Directory directory;
  HostBackend backend;
  R reduce{backend, {.k = 3}};
  const fs::path nowhere = directory.path / "no" / "rank0";
  const std::string written = refusal_of([&] { save_file(nowhere, reduce); });
  CHECK_MESSAGE(contains(written, "rank0' cannot be written (No such file or directory)"), written);
  const std::string read = refusal_of([&] { load_file(nowhere, reduce); });
  CHECK_MESSAGE(contains(read, "rank0' cannot be read (No such file or directory)"), read);
  const fs::path occupied = directory.path / "occupied";
  fs::create_directories(occupied / "inside");
  const std::string replaced = refusal_of([&] { save_file(occupied, reduce); });
  CHECK_MESSAGE(contains(replaced, "occupied' cannot be replaced"), replaced);
  CHECK(directory.files() == 1);
}

TEST_CASE("the files of all ranks are taken over by another number of them") {
  const Directory directory;
  std::vector<fs::path> files;
  for (int rank = 0; rank < 3; ++rank) {
    files.push_back(directory.path / ("rank" + std::to_string(rank)));
  }
  with_ranks(3, [&](HostBackend& backend, int rank) {
    R reduce{backend, {.k = 3}};
    std::vector<float> x = values_of<float>(rank, 50);
    reduce(x);
    save_file(files[static_cast<std::size_t>(rank)], reduce);
  });
  with_ranks(2, [&](HostBackend& backend, int rank) {
    R reduce{backend, {.k = 3}}, alone{backend, {.k = 3}};
    const std::string one = refusal_of([&] { load_file(files[0], alone); });
    CHECK_MESSAGE(contains(one, "number of ranks"), one);
    load_files(files, reduce);
    CHECK(reduce.step() == 1);
    // What waited in the mean of three waits in the mean of two.
    const auto residual = reducer::residual_in<float>(saved(reduce), 50);
    std::vector<float> expected(50);
    for (const fs::path& file : files) {
      const auto theirs = reducer::residual_in<float>(bytes_of(file), 50);
      for (std::size_t i = 0; i < 50; ++i) expected[i] += theirs[i] / 3;
    }
    for (std::size_t i = 0; i < 50; ++i) CHECK(residual[i] == doctest::Approx(expected[i]));
    std::vector<float> x = values_of<float>(rank, 50);
    CHECK(reduce(x).step == 1);
  });
}
