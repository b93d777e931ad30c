// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <utility>

namespace demo {

Progress::Progress(Style style, std::string name, std::size_t steps)
    : style_(style), name_(std::move(name)), steps_(steps), start_(Clock::now()), drawn_(start_) {
  if (style_ == Style::bar && isatty(STDOUT_FILENO) == 0) style_ = Style::lines;
  if (style_ == Style::bar) draw(0, start_);
}

double Progress::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

// At most 79 columns: a line that wraps cannot be drawn over.
void Progress::draw(std::size_t done, Clock::time_point now) {
  drawn_ = now;
  constexpr std::size_t width = 20;
  const std::size_t full = steps_ == 0 ? width : done * width / steps_;
  std::string bar(full, '#');
  bar.append(width - full, '.');
  std::printf("\r%-20s [%s] %5zu/%zu %6.1f s %s\x1b[K", name_.c_str(), bar.c_str(), done, steps_,
              elapsed(), note_.c_str());
  std::fflush(stdout);
}

void Progress::step(std::size_t done) {
  if (style_ != Style::bar) return;
  const Clock::time_point now = Clock::now();
  if (now - drawn_ >= std::chrono::milliseconds(100)) draw(done, now);
}

void Progress::epoch(std::size_t epoch, std::size_t epochs, std::size_t done, double loss,
                     double accuracy) {
  if (style_ == Style::nothing) return;
  if (style_ == Style::bar) {
    note_.resize(32);
    std::snprintf(note_.data(), note_.size(), "test %.2f %%", 100 * accuracy);
    note_.resize(std::strlen(note_.c_str()));
    return draw(done, Clock::now());
  }
  std::printf("%-20s epoch %zu of %zu: loss %.4f, test %.2f %%, %.1f s\n", name_.c_str(), epoch,
              epochs, loss, 100 * accuracy, elapsed());
  std::fflush(stdout);
}

void Progress::finish(double accuracy) {
  if (style_ != Style::bar) return;
  std::printf("\r%-20s %zu steps in %.1f s, test accuracy %.2f %%\x1b[K\n", name_.c_str(), steps_,
              elapsed(), 100 * accuracy);
  std::fflush(stdout);
}

}  // namespace demo
