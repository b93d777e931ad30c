// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/executor.hpp>

#include <pactrain/core/error.hpp>
#include <pactrain/cuda/executor.cuh>
#include <pactrain/cuda/pinned.hpp>

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

TYPE_TO_STRING(CudaExecutor);
TEST_CASE_TEMPLATE_INVOKE(executor::executor_suite, CudaExecutor);

namespace {

TEST_CASE("an executor works on the caller's stream, and wherever it is moved") {
  cudaStream_t stream = nullptr;
  gpu::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  {
    CudaExecutor first(stream);
    CHECK(first.stream() == stream);
    CudaExecutor exec = std::move(first);
    const Array<std::uint64_t, CudaExecutor> out(exec, 1000);
    exec.for_each(1000, executor::Square{out.span().data()});
    CHECK(out.read()[999] == 999 * 999);
  }
  gpu::check(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

TEST_CASE("pointers that kernels do not reach are told from those they do") {
  CudaExecutor exec;
  const auto buffer = exec.make_buffer<float>(10);
  const PinnedBuffer<float> pinned(10);
  const std::vector<float> host(10);
  int pageable = 0;
  gpu::check(cudaDeviceGetAttribute(&pageable, cudaDevAttrPageableMemoryAccess, exec.device()),
             "cudaDeviceGetAttribute");
  CHECK(exec.reaches(buffer.data() + 3));
  CHECK(exec.reaches(pinned.data()));
  CHECK(exec.reaches(host.data()) == (pageable != 0));
}

TEST_CASE("an error names the call, the code and CUDA's text") {
  std::string message;
  try {
    gpu::check(cudaErrorInvalidValue, "cudaThis");
  } catch (const BackendError& error) {
    message = error.what();
  }
  CHECK(message.find("cudaThis failed with code 1 (cudaErrorInvalidValue") != std::string::npos);
}

TEST_CASE("stages are ranges that nest") {
  CudaExecutor exec;
  exec.begin_stage("pack");
  exec.begin_stage("inner");
  exec.end_stage();
  exec.end_stage();
}

}  // namespace
