// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>
#include <pactrain/kernel/bits.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pactrain {

/// Writes state as bytes that do not depend on the machine's byte order: little-endian integers
/// and arrays of them, with a checksum over all at the end.
class Writer {
 public:
  explicit Writer(std::ostream& out) : out_(&out) {}

  template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void value(T x) {
    const auto bits = static_cast<std::uint64_t>(x);
    char bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(bits >> 8 * i & 0xff);
    put(bytes, 8);
  }
  void value(double x) { value(std::bit_cast<std::uint64_t>(x)); }
  void value(const std::string& text) {
    value(text.size());
    put(text.data(), text.size());
  }
  /// The elements of `x` as integers of their size.
  template <class T>
  void array(std::span<const T> x) {
    static_assert(std::is_trivially_copyable_v<T>);
    value(x.size());
    for (const T& element : x) {
      const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(element);
      if constexpr (std::endian::native == std::endian::little) {
        put(bytes.data(), sizeof(T));
      } else {
        for (std::size_t i = sizeof(T); i-- > 0;) put(&bytes[i], 1);
      }
    }
  }
  /// What `write(writer)` writes, behind its length, so that it can be passed over.
  template <class F>
  void block(F write) {
    std::ostringstream out;
    Writer inner(out);
    write(inner);
    const std::string bytes = out.str();
    value(bytes);
  }
  /// Ends the state with its checksum. Throws `StateError` if the stream failed.
  void finish() {
    const std::uint64_t sum = sum_;
    value(sum);
    out_->flush();
    if (!*out_) throw StateError("pactrain: the state could not be written; is the disk full?");
  }

 private:
  void put(const char* bytes, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      sum_ = (sum_ ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3u;
    }
    out_->write(bytes, static_cast<std::streamsize>(n));
  }

  std::ostream* out_;
  std::uint64_t sum_ = 0xcbf29ce484222325u;
};

/// Reads what `Writer` wrote. Every read throws `StateError` where the stream ends early; lengths
/// are checked against what the caller expects before memory is asked for.
class Reader {
 public:
  explicit Reader(std::istream& in) : in_(&in) {}

  [[nodiscard]] std::uint64_t value() {
    char bytes[8];
    get(bytes, 8);
    std::uint64_t x = 0;
    for (int i = 0; i < 8; ++i) {
      x |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << 8 * i;
    }
    return x;
  }
  [[nodiscard]] double real() { return std::bit_cast<double>(value()); }
  /// A text of at most `limit` bytes.
  [[nodiscard]] std::string text(std::size_t limit) {
    const std::uint64_t size = value();
    if (size > limit) throw StateError("pactrain: the state is damaged (a name is too long)");
    std::string text(size, '\0');
    get(text.data(), text.size());
    return text;
  }
  /// An array of exactly `expected` elements; `what` names it in the error.
  template <class T>
  [[nodiscard]] std::vector<T> array(std::size_t expected, const char* what) {
    const std::uint64_t size = value();
    if (size != expected) {
      throw StateError("pactrain: the state has " + std::to_string(size) + " entries of " + what +
                       " where " + std::to_string(expected) +
                       " belong (another model, or damaged); load the state of this model");
    }
    std::vector<T> x(size);
    for (T& element : x) {
      std::array<char, sizeof(T)> bytes{};
      get(bytes.data(), sizeof(T));
      if constexpr (std::endian::native == std::endian::big) {
        for (std::size_t i = 0; i < sizeof(T) / 2; ++i)
          std::swap(bytes[i], bytes[sizeof(T) - 1 - i]);
      }
      element = std::bit_cast<T>(bytes);
    }
    return x;
  }
  /// A block that `read()` reads; all of it.
  template <class F>
  void block(F read) {
    const std::uint64_t size = value(), begin = read_;
    read();
    if (read_ - begin != size) {
      throw StateError("pactrain: the state is damaged (a block of it has another length)");
    }
  }
  /// Passes over a block.
  void skip_block() {
    char bytes[256];
    for (std::uint64_t left = value(); left > 0;) {
      const std::size_t n = left < sizeof(bytes) ? static_cast<std::size_t>(left) : sizeof(bytes);
      get(bytes, n);
      left -= n;
    }
  }
  /// Throws `StateError` unless `found` is `expected`; `what` names it.
  void expect(std::uint64_t expected, const char* what) {
    if (value() != expected) {
      throw StateError(std::string("pactrain: the state was saved with another ") + what +
                       "; load it into a reducer made as the saved one was");
    }
  }
  /// Checks the checksum at the end.
  void finish() {
    const std::uint64_t sum = sum_;
    if (value() != sum) {
      throw StateError("pactrain: the state is damaged (its checksum does not fit); load another");
    }
  }

 private:
  void get(char* bytes, std::size_t n) {
    in_->read(bytes, static_cast<std::streamsize>(n));
    if (in_->gcount() != static_cast<std::streamsize>(n)) {
      throw StateError("pactrain: the state ends early (truncated?); load a complete one");
    }
    for (std::size_t i = 0; i < n; ++i) {
      sum_ = (sum_ ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3u;
    }
    read_ += n;
  }

  std::istream* in_;
  std::uint64_t read_ = 0;
  std::uint64_t sum_ = 0xcbf29ce484222325u;
};

/// A hash of options: integers, enums, flags and reals, in order.
class Fingerprint {
 public:
  template <class T>
  Fingerprint& operator()(T x) {
    std::uint64_t bits = 0;
    if constexpr (std::is_floating_point_v<T>) bits = std::bit_cast<std::uint64_t>(double(x));
    else bits = static_cast<std::uint64_t>(x);
    sum_ = kernel::mix(sum_ ^ bits, ++count_);
    return *this;
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return sum_; }

 private:
  std::uint64_t sum_ = 0, count_ = 0;
};

}  // namespace pactrain
