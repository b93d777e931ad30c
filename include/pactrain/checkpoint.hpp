// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>
#include <pactrain/core/options.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <ios>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace pactrain {

namespace detail {

[[noreturn]] inline void refuse_file(const std::filesystem::path& path, const char* what) {
  throw StateError("pactrain: '" + path.string() + "' cannot be " + what + " (" +
                   std::generic_category().message(errno) +
                   "); look at the path, its permissions and the disk");
}
/// Waits until a file, or the names in a directory, are on the disk.
inline void flush_to_disk(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) refuse_file(path, "opened");
  const int failed = ::fsync(file);
  ::close(file);
  if (failed != 0 && errno != EINVAL) refuse_file(path, "flushed");  // no file system without it
}
inline std::unique_ptr<std::ifstream> open_state(const std::filesystem::path& path) {
  errno = 0;
  auto in = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*in) refuse_file(path, "read");
  return in;
}

}  // namespace detail

/// Writes the state of a reducer, or of whatever has `save(std::ostream&)`, to a file: to a new one
/// beside it, flushed to the disk, which then takes the name. Whenever the program or the machine
/// stops, the file is the old one or the new one, whole. Not collective: each rank writes its own.
/// Throws `StateError`, naming the file and the system's reason, and then the old one is there; or,
/// if it was the directory that could not be flushed, the new one, which may not outlive the
/// machine.
template <class R>
void save_file(const std::filesystem::path& path, R& reduce) {
  std::filesystem::path fresh = path;
  fresh += ".new." + std::to_string(::getpid());
  try {
    errno = 0;
    std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
    if (!out) detail::refuse_file(path, "written");
    reduce.save(out);
    out.close();
    if (!out) detail::refuse_file(path, "written");
    detail::flush_to_disk(fresh);
    std::filesystem::rename(fresh, path);
  } catch (const std::filesystem::filesystem_error& error) {
    std::error_code ignored;
    std::filesystem::remove(fresh, ignored);
    throw StateError("pactrain: '" + path.string() + "' cannot be replaced (" +
                     error.code().message() + "); look at the path and its permissions");
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(fresh, ignored);
    throw;
  }
  detail::flush_to_disk(path.has_parent_path() ? path.parent_path() : ".");
}

/// Reads what `save_file` wrote. Throws `StateError`, and then the reducer is as it was.
template <class R>
void load_file(const std::filesystem::path& path, R& reduce) {
  reduce.load(*detail::open_state(path));
}

/// The same on another number of ranks: the files of all ranks that wrote, in rank order, and what
/// becomes of their residuals (`SparseAllReduce::load`).
template <class R>
void load_files(std::span<const std::filesystem::path> paths, R& reduce,
                Residuals rule = Residuals::shared) {
  std::vector<std::unique_ptr<std::ifstream>> files;
  std::vector<std::istream*> states;
  for (const auto& path : paths) {
    files.push_back(detail::open_state(path));
    states.push_back(files.back().get());
  }
  reduce.load(std::span<std::istream* const>(states), rule);
}

}  // namespace pactrain
