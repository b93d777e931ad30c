// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/communicator.hpp>

#include <cuda/nccl_world.hpp>
#include <doctest/doctest.h>
#include <thrust/device_vector.h>

#include <cmath>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

TYPE_TO_STRING(NcclThreads);
TEST_CASE_TEMPLATE_INVOKE(communicator::communicator_suite, NcclThreads);

namespace {

TEST_CASE("NCCL's own sums are near those in rank order, and count as many bytes") {
  const int ranks = NcclThreads::ranks().back();
  on_threads(ranks, [&](HostBackend& host) {
    gpu::check(cudaSetDevice(host.communicator().rank()), "cudaSetDevice");
    NcclBackend backend{NcclCommunicator::over(host.communicator(), {.vendor_halves = true})};
    auto& comm = backend.communicator();
    for_types<float, double, float16, bfloat16>([&]<class T>() {
      const std::size_t n = 1001;
      const auto x = communicator::array(backend, values_of<T>(comm.rank(), n));
      const std::uint64_t before = comm.bytes_sent();
      all_reduce(backend.executor(), comm, x.span(), Mean{});
      const std::size_t own = share_of(n, comm.rank(), ranks).size();
      CHECK(comm.bytes_sent() - before ==
            sizeof(T) * (n - own + own * static_cast<std::size_t>(ranks - 1)));
      const auto got = x.read(), expected = reduced_values<T>(ranks, n, Mean{});
      for (std::size_t i = 0; i < n; ++i) {
        using A = arithmetic_t<T>;
        const double off = std::abs(static_cast<double>(static_cast<A>(got[i])) -
                                    static_cast<double>(static_cast<A>(expected[i])));
        if (!(off <= 128 * (sizeof(T) == 2 ? 0x1p-7 : 0x1p-22))) FAIL_CHECK("entry ", i);
      }
    });
  });
}

TEST_CASE("vectors and half types of CUDA's are taken as they are") {
  thrust::device_vector<float> floats(10);
  CHECK(as_span(floats).data() == thrust::raw_pointer_cast(floats.data()));
  thrust::device_vector<__half> halves(10);
  static_assert(std::same_as<decltype(as_span(halves)), std::span<float16>>);
  CHECK(as_span(halves).size() == 10);
  static_assert(Sliceable<std::span<__nv_bfloat16>>);
}

}  // namespace
