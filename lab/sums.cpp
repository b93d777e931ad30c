// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pactrain_lab_sums BITS-A-SECOND ROUNDS FLOATS...: times sums over all ranks, MPI's and in rank
// order by turns, as ratios to the time that the ring's formula gives, 2 (P-1)/P of the bytes at
// that rate: medians, and in brackets the quartiles.
#include <pactrain/mpi/backend.hpp>
#include <pactrain/pactrain.hpp>

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <thread>
#include <vector>

namespace {

using namespace pactrain;

/// The seconds of a collective: the longest that a rank took, known to all.
double seconds(const std::function<void()>& sum) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto start = std::chrono::steady_clock::now();
  sum();
  double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return taken;
}

void vendor(std::span<const float> in, std::span<float> out) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_FLOAT, MPI_SUM,
                 MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0; std::this_thread::yield()) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

/// The three quartiles.
struct Spread {
  explicit Spread(std::vector<double> values) {
    std::ranges::sort(values);
    const auto at = [&](std::size_t quarter) { return values[(values.size() - 1) * quarter / 4]; };
    low = at(1), middle = at(2), high = at(3);
  }
  double low, middle, high;
};

/// Prints a row of the table.
void measure(MpiBackend& backend, std::size_t floats, double rate, std::size_t rounds) {
  const auto rank = static_cast<float>(backend.communicator().rank());
  const double ranks = backend.communicator().size();
  const double formula =
      2 * (ranks - 1) / ranks * static_cast<double>(floats * sizeof(float)) * 8 / rate;
  std::vector<float> in(floats, rank), out(floats);
  const auto by_vendor = [&] { vendor(in, out); };
  const auto in_rank_order = [&] {
    all_reduce(backend.executor(), backend.communicator(), std::span(in), Mean{});
  };
  by_vendor();  // the first sums open connections
  in_rank_order();
  std::vector<double> vendors, ordered, ratios;
  for (std::size_t round = 0; round < rounds; ++round) {
    vendors.push_back(seconds(by_vendor) / formula);
    ordered.push_back(seconds(in_rank_order) / formula);
    ratios.push_back(ordered.back() / vendors.back());
  }
  const Spread v(vendors), o(ordered), ratio(ratios);
  if (rank == 0) {
    std::printf("| %zu | %.0f | %.0f | %.4f |", floats, ranks, rate / 1e6, formula);
    for (const Spread& s : {v, o, ratio})
      std::printf(" %.2f (%.2f-%.2f) |", s.middle, s.low, s.high);
    std::printf("\n");
    std::fflush(stdout);
  }
}

int run(int argc, char** argv) {
  const double rate = argc > 3 ? std::atof(argv[1]) : 0;
  const int rounds = argc > 3 ? std::atoi(argv[2]) : 0;
  if (rate <= 0 || rounds <= 0) {
    std::fprintf(stderr, "pactrain_lab_sums BITS-A-SECOND ROUNDS FLOATS...\n");
    return 2;
  }
  MpiBackend backend{MPI_COMM_WORLD};
  if (backend.communicator().rank() == 0) {
    std::printf(
        "| floats | hosts | Mbit/s | formula, s | MPI_Iallreduce / formula | rank order / formula "
        "| "
        "rank order / MPI_Iallreduce |\n| --- | --- | --- | --- | --- | --- | --- |\n");
  }
  for (int i = 3; i < argc; ++i) {
    measure(backend, std::strtoull(argv[i], nullptr, 10), rate, static_cast<std::size_t>(rounds));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = run(argc, argv);
  MPI_Finalize();
  return status;
}
