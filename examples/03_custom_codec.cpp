// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A codec of your own: what a value looks like on the wire. This one sends whole multiples of a
// fixed step as 16-bit integers; they add, so an all-reduce sums them.
#include <cmath>
#include <cstdio>
#include <vector>

#include <pactrain/pactrain.hpp>

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
    float step;
    float* sum;
    PACTRAIN_FN void operator()(std::size_t i) const { sum[i] += wire[i] * step; }
  };

  template <Executor E>
  class on {
   public:
    explicit on(const FixedPoint& options) : step_(options.step) {}
    template <class S>
    [[nodiscard]] ValueType wire_type(int) const {
      return ValueType::int16;
    }
    void encode(E& exec, const CodecCall&, std::span<const float> values,
                std::span<std::byte> wire) {
      exec.for_each(values.size(), Encode{values.data(), step_,
                                          reinterpret_cast<std::int16_t*>(wire.data())});
    }
    void decode_add(E& exec, const CodecCall&, std::span<const std::byte> wire,
                    std::span<float> sum) {
      exec.for_each(sum.size(), DecodeAdd{reinterpret_cast<const std::int16_t*>(wire.data()),
                                          step_, sum.data()});
    }

   private:
    float step_;
  };
};

int main() {
  on_threads(4, [](HostBackend& backend) {
    SparseAllReduce<KeepAll, FullMask, HostBackend, FixedPoint> reduce{backend};
    std::vector<float> gradient(1000, 0.25f * static_cast<float>(backend.communicator().rank()));
    const Report report = reduce(gradient);
    if (backend.communicator().rank() != 0) return;
    std::printf("mean %g, %llu bytes of payload\n", static_cast<double>(gradient[0]),
                static_cast<unsigned long long>(report.payload_bytes));
  });
}
