// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A codec of your own: what a value looks like on the wire. This one sends whole multiples of a
// fixed step as 16-bit integers; they add, so an all-reduce sums them.
#include <pactrain/pactrain.hpp>

#include <cmath>
#include <vector>

using namespace pactrain;

struct FixedPoint {
  static constexpr bool additive = true;
  template <class S>
  using wires = WireTypes<std::int16_t>;
  float step = 1.0f / 64;
  [[nodiscard]] std::uint64_t fingerprint() const { return Fingerprint{}(step).value(); }

  struct Encode {
    const float* values;
    float step;
    std::int16_t* wire;
    PACTRAIN_FN void operator()(std::size_t i) const {
      wire[i] = static_cast<std::int16_t>(std::lround(values[i] / step));
    }
  };
  struct DecodeAdd {
    const std::int16_t* wire;
    float step, *sum;
    PACTRAIN_FN void operator()(std::size_t i) const { sum[i] += wire[i] * step; }
  };

  template <Executor E>
  struct on {
    explicit on(const FixedPoint& options) : step(options.step) {}
    template <class S>
    [[nodiscard]] ValueType wire_type(int) const {
      return ValueType::int16;
    }
    void encode(E& exec, const CodecCall&, std::span<const float> x, std::span<std::byte> wire) {
      exec.for_each(x.size(), Encode{x.data(), step, reinterpret_cast<std::int16_t*>(wire.data())});
    }
    void decode_add(E& exec, const CodecCall&, std::span<const std::byte> wire,
                    std::span<float> sum) {
      const auto* const digits = reinterpret_cast<const std::int16_t*>(wire.data());
      exec.for_each(sum.size(), DecodeAdd{digits, step, sum.data()});
    }
    float step;
  };
};

int main() {
  on_threads(4, [](HostBackend& backend) {
    SparseAllReduce<KeepAll, FullMask, HostBackend, FixedPoint> reduce{backend};
    std::vector<float> gradient(1000, 0.25f * static_cast<float>(backend.communicator().rank()));
    const Report report = reduce(gradient);  // 0, 0.25, 0.5 and 0.75: the mean is 0.375
    if (gradient[0] != 0.375f || report.payload_bytes != 2000) throw Error("not as it should be");
  });
}
