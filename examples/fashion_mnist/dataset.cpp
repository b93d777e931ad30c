// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dataset.hpp"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace demo {
namespace {

// Mean and deviation of Fashion-MNIST's training pixels, as parts of 255.
constexpr float pixel_mean = 0.2860f * 255, pixel_deviation = 0.3530f * 255;

struct Close {
  void operator()(gzFile file) const { gzclose(file); }
};
using File = std::unique_ptr<std::remove_pointer_t<gzFile>, Close>;

[[noreturn]] void damaged(const std::filesystem::path& path, const std::string& problem) {
  throw std::runtime_error(path.string() + " " + problem +
                           ". Reinstall the package dataset-fashion-mnist, or name a directory "
                           "with whole files by --data.");
}

void read(const File& file, const std::filesystem::path& path, std::span<std::uint8_t> bytes) {
  const auto count = static_cast<unsigned>(bytes.size());
  if (gzread(file.get(), bytes.data(), count) != static_cast<int>(count))
    damaged(path, "ends early or is no gzip file");
}

std::uint32_t read_number(const File& file, const std::filesystem::path& path) {
  std::uint8_t b[4];
  read(file, path, b);
  return std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
}

/// Reads an IDX file of bytes whose entries have the given shape (none: one byte each).
std::vector<std::uint8_t> read_idx(const std::filesystem::path& path,
                                   const std::vector<std::uint32_t>& shape) {
  const File file(gzopen(path.c_str(), "rb"));
  if (!file)
    throw std::runtime_error("cannot open " + path.string() +
                             ". Install the data (apt-get install dataset-fashion-mnist), or "
                             "name the directory that holds it by --data.");
  constexpr std::uint32_t bytes_of = 0x00000800, most_entries = 1'000'000;
  if (read_number(file, path) != bytes_of + 1 + shape.size())
    damaged(path, "is no IDX file of the expected kind");
  const std::uint32_t count = read_number(file, path);
  if (count == 0 || count > most_entries) damaged(path, "has an unlikely number of entries");
  std::size_t size = count;
  for (const std::uint32_t extent : shape) {
    if (read_number(file, path) != extent) damaged(path, "has pictures of another size");
    size *= extent;
  }
  std::vector<std::uint8_t> values(size);
  read(file, path, values);
  return values;
}

Dataset read_pair(const std::filesystem::path& directory, const std::string& name) {
  return Dataset(read_idx(directory / (name + "-images-idx3-ubyte.gz"), {28, 28}),
                 read_idx(directory / (name + "-labels-idx1-ubyte.gz"), {}));
}

}  // namespace

Dataset::Dataset(std::vector<std::uint8_t> images, std::vector<std::uint8_t> labels)
    : images_(std::move(images)), labels_(std::move(labels)) {
  if (images_.size() != labels_.size() * pixels)
    throw std::runtime_error("there are " + std::to_string(images_.size() / pixels) +
                             " pictures but " + std::to_string(labels_.size()) +
                             " labels. Are the two files of the same set?");
  if (std::any_of(labels_.begin(), labels_.end(), [](std::uint8_t l) { return l >= classes; }))
    throw std::runtime_error("a label is above 9. Is this the right set?");
}

void Dataset::load(std::span<const std::uint32_t> pictures, float* to) const {
  for (const std::uint32_t picture : pictures) {
    for (const std::uint8_t pixel : image(picture)) {
      *to++ = (static_cast<float>(pixel) - pixel_mean) * (1 / pixel_deviation);
    }
  }
}

FashionMnist load_fashion_mnist(const std::filesystem::path& directory) {
  return {.train = read_pair(directory, "train"), .test = read_pair(directory, "t10k")};
}

}  // namespace demo
