// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bench_cuda [ENTRIES]: kernels on a GPU as shares of the rate at which it copies, and beside CUB,
// by turns in one run, as a table in Markdown. 256 Mi floats unless a number is given.
#include "axes.hpp"

#include <pactrain/core/model.hpp>
#include <pactrain/cuda/executor.cuh>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/nccl/backend.cuh>
#include <pactrain/pactrain.hpp>

#include <cub/device/device_select.cuh>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

namespace pactrain::bench {

struct RandomValue {
  float* x;
  PACTRAIN_FN void operator()(std::size_t i) const {
    x[i] = static_cast<float>(kernel::mix(i, 1) >> 40) * 0x1p-24f - 0.5f;
  }
};
struct KeepShare {
  std::uint64_t percent;
  PACTRAIN_FN bool operator()(std::size_t i) const { return kernel::mix(i, 2) % 100 < percent; }
};
/// 1 where any of the eight floats of a sector of 32 bytes is kept.
struct SectorKept {
  kernel::Bits bits;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const {
    return (bits.word(i / 8) >> i % 8 * 8 & 0xff) != 0 ? 1 : 0;
  }
};

class Bench {
 public:
  explicit Bench(std::size_t n)
      : n_(n),
        dense_(exec_.make_buffer<float>(n)),
        other_(exec_.make_buffer<float>(n)),
        packed_(exec_.make_buffer<float>(n)),
        number_(exec_.make_buffer<std::size_t>(1)),
        flag_(exec_.make_buffer<std::uint32_t>(1)) {
    exec_.for_each(n, RandomValue{dense_.data()});
    model_.add("all", n);
    for (cudaEvent_t* event : {&begin_, &end_}) gpu::check(cudaEventCreate(event), "event");
  }

  void kernels() {
    std::puts("| kept | work | ms | GB/s | of copy's rate | times as fast as CUB |");
    std::puts("| --- | --- | --- | --- | --- | --- |");
    for (const std::int64_t percent : percents) at(static_cast<std::uint64_t>(percent));
  }
  /// The k-th largest of all, beside one copy.
  void ranking() {
    std::puts("\n| k | ms | of a copy's time |\n| --- | --- | --- |");
    const std::span<const float> all(dense_.data(), n_);
    for (const std::int64_t percent : percents) {
      const std::size_t k = n_ * static_cast<std::size_t>(percent) / 100;
      const Times t = paired(
          [&] { (void)exec_.kth_largest(std::span<const std::span<const float>>(&all, 1), k); });
      std::printf("| %d %% | %.3f | %.2f |\n", static_cast<int>(percent), t.work, t.work / t.copy);
    }
  }
  /// A whole call on one rank, beside ncclAllReduce of the dense vector.
  void call() {
    ThreadCommunicator alone;
    NcclBackend backend{NcclCommunicator::over(alone), exec_.stream()};
    ncclComm_t comm = nullptr;
    const int device = exec_.device();
    nccl::check(ncclCommInitAll(&comm, 1, &device), "ncclCommInitAll");
    std::puts("\n| pruned | call, ms | ncclAllReduce, ms |\n| --- | --- | --- |");
    for (const double sparsity : {0.5, 0.9, 0.99}) {
      SparseAllReduce<RandomPruning, BitMask, NcclBackend> reduce{backend, {.sparsity = sparsity}};
      const std::span<float> gradient(dense_.data(), n_);
      const double ours = median([&] { reduce(gradient); });
      const double theirs = median([&] {
        nccl::check(ncclAllReduce(dense_.data(), other_.data(), n_, ncclFloat32, ncclSum, comm,
                                  exec_.stream()),
                    "ncclAllReduce");
      });
      std::printf("| %g | %.3f | %.3f |\n", sparsity, ours, theirs);
    }
    nccl::check(ncclCommDestroy(comm), "ncclCommDestroy");
  }

 private:
  struct Times {
    double work, copy;
  };

  void at(std::uint64_t percent) {
    BitMask::on<CudaExecutor> mask;
    mask.begin(exec_, model_);
    mask.assign(exec_, Piece<const float>{0, 0, 0, n_, dense_.data()}, KeepShare{percent});
    mask.end(exec_);
    const kernel::Bits bits = mask.bits();
    std::size_t sectors = 0;
    const std::span<std::size_t> number(number_.data(), 1);
    exec_.reduce(n_ / 8, std::size_t{0}, SectorKept{bits}, kernel::Add{},
                 std::span<std::size_t, 1>(number));
    exec_.read(as_const_span(number), std::span(&sectors, 1));
    const std::size_t kept = mask.count(), all = n_ * 4, mask_bytes = n_ / 8 + n_ / 64;
    const std::span<const float> dense(dense_.data(), n_);

    const Times select = paired([&] { select_by_cub(bits); });
    const auto row = [&](const char* work, std::size_t bytes, Times t, double cub) {
      const double rate = static_cast<double>(bytes) / t.work * 1e-6;
      const double copy_rate = 2 * static_cast<double>(all) / t.copy * 1e-6;
      std::printf("| %d %% | %s | %.3f | %.0f | %.2f | ", static_cast<int>(percent), work, t.work,
                  rate, rate / copy_rate);
      if (cub > 0) std::printf("%.2f |\n", cub / t.work);
      else std::puts("|");
    };
    row("pack", sectors * 32 + mask_bytes + kept * 4, paired([&] {
          exec_.compress(bits, 0, dense, packed_.data(), 0, static_cast<std::uint32_t*>(nullptr));
        }),
        select.work);
    row("pack, looking", all + mask_bytes + kept * 4,
        paired([&] { exec_.compress(bits, 0, dense, packed_.data(), 0, flag_.data()); }),
        select.work);
    row("unpack", kept * 4 + mask_bytes + all, paired([&] {
          exec_.expand(bits, 0, packed_.data(), 0, std::span<float>(other_.data(), n_));
        }),
        0);
    row("DeviceSelect::Flagged", sectors * 32 + mask_bytes + kept * 4, select, 0);
  }
  void select_by_cub(kernel::Bits bits) {
    const auto flags =
        thrust::make_transform_iterator(thrust::counting_iterator<std::size_t>(0), bits);
    std::size_t bytes = 0;
    for (void* memory : {static_cast<void*>(nullptr), static_cast<void*>(other_.data())}) {
      gpu::check(
          cub::DeviceSelect::Flagged(memory, bytes, dense_.data(), flags, packed_.data(),
                                     number_.data(), static_cast<std::int64_t>(n_), exec_.stream()),
          "cub::DeviceSelect::Flagged");
    }
  }

  template <class F>
  double time(F f) {
    gpu::check(cudaEventRecord(begin_, exec_.stream()), "cudaEventRecord");
    f();
    gpu::check(cudaEventRecord(end_, exec_.stream()), "cudaEventRecord");
    gpu::check(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float ms = 0;
    gpu::check(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
    return ms;
  }
  static double middle(std::vector<double> times) {
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    return times[rounds / 2];
  }
  template <class F>
  double median(F f) {
    f();
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i) times.push_back(time(f));
    return middle(times);
  }
  /// By turns with a copy of the dense vector.
  template <class F>
  Times paired(F f) {
    f();
    std::vector<double> work, copy;
    for (int i = 0; i < rounds; ++i) {
      copy.push_back(time([&] {
        exec_.copy(std::span<const float>(dense_.data(), n_), std::span<float>(other_.data(), n_));
      }));
      work.push_back(time(f));
    }
    return {middle(work), middle(copy)};
  }
  static constexpr int rounds = 21;

  CudaExecutor exec_;
  std::size_t n_;
  Model model_;
  CudaBuffer<float> dense_, other_, packed_;
  CudaBuffer<std::size_t> number_;
  CudaBuffer<std::uint32_t> flag_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace pactrain::bench

int main(int argc, char** argv) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: no CUDA device");
    return 77;
  }
  const std::size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{1} << 28;
  pactrain::bench::Bench bench(n / 64 * 64);
  bench.kernels();
  bench.ranking();
  bench.call();
}
