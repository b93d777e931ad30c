// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One word swaps the backend: `train` names none. Here it runs on threads, then on MPI; start it
// with `mpirun -n 4 04_swap_backend`.
#include <pactrain/mpi/backend.hpp>
#include <pactrain/pactrain.hpp>

#include <mpi.h>

#include <cstdio>
#include <vector>

using namespace pactrain;

namespace {

template <Backend B>
std::vector<float> train(B& backend) {
  SparseAllReduce<RandomPruning, BitMask, B, Cast<bfloat16>> reduce{backend, {.sparsity = 0.75}};
  std::vector<float> gradient(1000);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = static_cast<float>(i) * static_cast<float>(backend.communicator().rank() + 1);
  }
  reduce(gradient);
  return gradient;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int alike = 0;
  {
    MpiBackend backend{MPI_COMM_WORLD};
    const std::vector<float> over_mpi = train(backend);
    on_threads(backend.communicator().size(), [&](HostBackend& threads) {
      const std::vector<float> over_threads = train(threads);
      if (threads.communicator().rank() == 0) alike = over_threads == over_mpi ? 1 : 0;
    });
    if (backend.communicator().rank() == 0) {
      std::printf("threads and MPI give %s bits\n", alike != 0 ? "the same" : "OTHER");
    }
  }
  MPI_Finalize();
  return alike != 0 ? 0 : 1;
}
