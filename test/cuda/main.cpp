// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main of every test that needs a GPU. Without one it runs nothing and says so to ctest.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <iostream>

int main(int argc, char** argv) {
  int devices = 0;  // which the call leaves as it is where there is no driver
  const cudaError_t code = cudaGetDeviceCount(&devices);
  if (code != cudaSuccess || devices == 0) {
    std::cout << "skipped: no CUDA device (" << cudaGetErrorString(code) << ")\n";
    return 77;
  }
  return doctest::Context(argc, argv).run();
}
