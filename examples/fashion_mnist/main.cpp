// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpi_session.hpp"
#include "network.hpp"
#include "options.hpp"
#include "plot.hpp"
#include "results.hpp"
#include "settings.hpp"
#include "threads.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace demo {
namespace {

void complain(const std::string& problem) {
  std::cout.flush();
  std::cerr << "pactrain_fashion_mnist: " << problem << '\n';
}

/// Processes that mpirun started, each with threads of its own, would all do the same work.
void refuse_threads_under_mpirun() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* size = std::getenv(variable); size && std::atoi(size) > 1)
      throw UsageError(
          "mpirun started several processes, but the workers are threads of one. "
          "Add --backend mpi.");
}

void make_directory(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    throw UsageError("cannot create the directory " + path.string() + " (" + error.message() +
                     "). Name another one by --output.");
}

void report(const Settings& settings, const std::string& title, const std::vector<Result>& results,
            double seconds) {
  print_table(std::cout, results);
  write_json(settings.output / "results.json", settings, results);
  const std::string problem = plot(settings.output, title, results);
  std::cout << "\nAll replicas agreed after every epoch. " << std::llround(seconds)
            << " seconds. Results are in " << settings.output.string() << ".\n";
  if (!problem.empty()) complain("no picture: " + problem);
}

/// What has to be right before work begins; a problem of one rank is a problem of all.
std::optional<Problem> prepare(Settings& settings, const std::optional<MpiSession>& mpi,
                               bool asked_for_ranks) {
  std::optional<Problem> loaded;
  std::string problem;
  try {
    if (!mpi) {
      refuse_threads_under_mpirun();
    } else {
      const auto size = static_cast<std::size_t>(mpi->size());
      if (asked_for_ranks && settings.ranks != size)
        throw UsageError("--ranks " + std::to_string(settings.ranks) + " but mpirun started " +
                         std::to_string(size) + ". Leave --ranks out, or start mpirun -n " +
                         std::to_string(settings.ranks) + ".");
      settings.ranks = size;
    }
    check(settings);
    loaded = load_problem(settings.network, settings.data);
    if (!mpi || mpi->rank() == 0) make_directory(settings.output);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  const int failed = mpi ? mpi->first_failed(!problem.empty()) : 0;
  if (!problem.empty() && (!mpi || mpi->rank() == failed)) complain(problem);
  if (mpi ? failed < mpi->size() : !problem.empty()) loaded.reset();
  return loaded;
}

int run(int argc, char** argv) {
  const auto start = std::chrono::steady_clock::now();
  std::optional<MpiSession> mpi;
  if (asks_for_mpi(argc, argv)) mpi.emplace(argc, argv);
  const bool speaks = !mpi || mpi->rank() == 0;
  Settings settings;
  settings.ranks = 0;
  if (const std::optional<int> code = parse_options(argc, argv, !speaks, settings)) return *code;
  const bool asked_for_ranks = settings.ranks != 0;
  if (!asked_for_ranks) settings.ranks = Settings{}.ranks;
  const std::optional<Problem> problem = prepare(settings, mpi, asked_for_ranks);
  if (!problem) return EXIT_FAILURE;
  try {
    const std::vector<Result> results =
        mpi ? mpi->train(settings, *problem) : train_on_threads(settings, *problem);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (speaks) report(settings, problem->title, results, taken.count());
  } catch (const std::exception& error) {
    if (!mpi) throw;
    complain("rank " + std::to_string(mpi->rank()) + ": " + error.what());
    mpi->abort();
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace demo

int main(int argc, char** argv) {
  try {
    return demo::run(argc, argv);
  } catch (const std::exception& error) {
    demo::complain(error.what());
    return EXIT_FAILURE;
  }
}
