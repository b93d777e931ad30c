// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/resolve.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/slices.hpp>
#include <pactrain/kernel/pack.hpp>

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace pactrain {

/// The pieces of one call: of the gradient (type T), of what is packed in its place (the source,
/// type S), and the places of their parameters in the packed vector.
template <GradientValue T, GradientValue S, Executor E>
class CallPieces {
 public:
  /// `by_parts`: may a call have some parts of the model only?
  explicit CallPieces(bool by_parts) : by_parts_(by_parts) {}

  [[nodiscard]] std::span<const Piece<T>> gradient() const { return gradient_; }
  [[nodiscard]] std::span<const Piece<const S>> source() const { return source_; }
  /// The parts of the call where their kept entries are packed or, on the dense path, all.
  [[nodiscard]] std::span<const PackedPart> places(Path path) const {
    return path == Path::dense ? whole_ : parts_;
  }
  /// How many values travel by that path.
  [[nodiscard]] std::size_t size(Path path) const { return size_of(places(path)); }
  /// Entries of the gradient: none where the call is wrong.
  [[nodiscard]] std::size_t entries() const noexcept { return entries_; }
  /// The source as values in scratch memory, where it is not the gradient itself.
  [[nodiscard]] std::span<S> sums() const { return sums_; }

  void clear() {
    gradient_.clear();
    source_.clear();
    expected_.clear();
    entries_ = 0;
  }
  /// Nothing can be taken, but other ranks fill the place of part `name`, if the model has one; all
  /// of it where calls have no parts, whatever this rank's wrong call named.
  void expect(const Model& model, const std::string& name) {
    const std::size_t part = model.part_named(name);
    if (by_parts_ && part < model.parts().size()) expected_.insert(part);
  }
  /// Throws `PreconditionError` where the slices do not fit the model, or kernels not reach them.
  void take(E& exec, const Model& model, std::span<const Slice<T>> slices) {
    resolve(model, slices, gradient_);
    expect_reachable(exec, model, std::span<const Piece<T>>(gradient_));
    for (const auto& piece : gradient_) entries_ += piece.size;
  }

  /// A hash of which positions of the model the call has, however they are cut.
  [[nodiscard]] std::uint64_t coverage() const {
    std::uint64_t sum = 0;
    std::size_t end = 0;
    for (const auto& piece : gradient_) {
      if (piece.first != end) sum = kernel::mix(kernel::mix(sum, end), piece.first);
      end = piece.first + piece.size;
    }
    return kernel::mix(sum, end);
  }

  /// Makes the source: the gradient, or zeros if this rank contributes `nothing`; what `feedback`
  /// remembers is added where it remembers anything.
  template <class FeedbackOn>
  void compensate(E& exec, bool nothing, FeedbackOn& feedback) {
    constexpr bool remembers =
        requires(Piece<T> from, S* to) { feedback.compensate(exec, from, to); };
    const std::span<const Piece<T>> measured(gradient_.data(), nothing ? 0 : gradient_.size());
    if constexpr (requires { feedback.measure(exec, measured); }) feedback.measure(exec, measured);
    std::span<T> zeros;
    if (nothing) {
      zeros = zeros_buffer_.template take<T>(exec, entries_);
      exec.for_each(zeros.size(), kernel::Fill<T>{zeros.data(), T{}});
    }
    if (remembers) sums_ = sums_buffer_.template take<S>(exec, entries_);
    std::size_t at = 0;
    for (const auto& piece : gradient_) {
      Piece<T> from = piece;
      if (nothing) from.data = zeros.data() + at;
      const S* values = nullptr;
      if constexpr (remembers) {
        feedback.compensate(exec, from, sums_.data() + at);
        values = sums_.data() + at;
      } else {
        values = from.data;
      }
      source_.push_back({piece.part, piece.at, piece.first, piece.size, values});
      at += piece.size;
    }
  }

  /// Places the parameters of the call in the packed vector; `slot(part)` is the first slot of a
  /// part. Where nothing was taken, the expected parts are placed, or all of the model.
  template <class Slot>
  void lay_out(const Model& model, bool taken, Slot slot) {
    parts_.clear();
    whole_.clear();
    const auto add = [&](std::size_t part) {
      const std::size_t packed = size_of(parts_), all = size_of(whole_);
      parts_.push_back({part, packed, slot(part + 1) - slot(part)});
      whole_.push_back({part, all, model.parts()[part].size});
    };
    if (!taken) {
      for (const std::size_t part : expected_) add(part);
      for (std::size_t i = 0; expected_.empty() && i < model.parts().size(); ++i) add(i);
    }
    for (const auto& piece : gradient_) {
      if (parts_.empty() || parts_.back().part != piece.part) add(piece.part);
    }
  }

  /// f(piece of the gradient, piece of the source, place in the packed vector, entries before).
  template <class F>
  void each(F f) const {
    std::size_t place = 0, at = 0;
    for (std::size_t i = 0; i < gradient_.size(); ++i) {
      while (parts_[place].part != gradient_[i].part) ++place;
      f(gradient_[i], source_[i], parts_[place], at);
      at += gradient_[i].size;
    }
  }

 private:
  static std::size_t size_of(std::span<const PackedPart> parts) {
    return parts.empty() ? 0 : parts.back().first + parts.back().size;
  }

  bool by_parts_;
  std::vector<Piece<T>> gradient_;
  std::vector<Piece<const S>> source_;
  std::vector<PackedPart> parts_, whole_;
  std::set<std::size_t> expected_;
  std::size_t entries_ = 0;
  std::span<S> sums_;
  Scratch<E> zeros_buffer_, sums_buffer_;
};

}  // namespace pactrain
