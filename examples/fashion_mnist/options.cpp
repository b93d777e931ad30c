// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "options.hpp"

#include "network.hpp"
#include "reducer.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace demo {
namespace {

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Compressor& each : compressors()) all.push_back(each.name);
  return all;
}

std::string about_all() {
  std::string text;
  for (const Compressor& each : compressors()) text += "\n  " + each.name + ": " + each.about;
  return text;
}

/// "pactrain-90-ternary" is the compressor pactrain-ternary at 90 percent; other names are
/// compressors' own.
Run run_of(const std::string& option, const std::string& name) {
  const auto known = [](const std::string& compressor) {
    return std::ranges::find(compressors(), compressor, &Compressor::name) != compressors().end();
  };
  const std::string prefix = "pactrain-";
  if (name.starts_with(prefix)) {
    const char* const first = name.c_str() + prefix.size();
    char* last = nullptr;
    const double percent = std::strtod(first, &last);
    const std::string compressor = "pactrain" + std::string(last);
    if (last != first && percent >= 0 && percent < 100 && known(compressor))
      return {.name = name, .compressor = compressor, .sparsity = percent / 100};
  }
  if (name == "pactrain" || name.starts_with(prefix)) {
    if (known(name)) return run_of(option, "pactrain-90" + name.substr(prefix.size() - 1));
  } else if (known(name)) {
    return {.name = name, .compressor = name};
  }
  throw CLI::ValidationError(option, "there is no run " + name +
                                         ". Runs are compressors by their names, as in topk, and "
                                         "pactrain-PERCENT or pactrain-PERCENT-CODEC, as in "
                                         "pactrain-90-ternary. Compressors:" +
                                         about_all());
}

}  // namespace

bool asks_for_mpi(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--backend=mpi") return true;
    if (argument == "--backend" && i + 1 < argc) return std::string_view(argv[i + 1]) == "mpi";
  }
  return false;
}

std::optional<int> parse_options(int argc, char** argv, bool quiet, Settings& settings) {
  CLI::App app(
      "Trains a network, as a rule a perceptron on Fashion-MNIST, with several workers, once with "
      "all gradients and again with the network pruned while it is trained, and compares accuracy "
      "and traffic.");
  std::vector<std::string> runs, by;
  std::string order = "rank";
  app.add_option("--ranks", settings.ranks, "number of workers; under mpirun that of its processes")
      ->check(CLI::Range(1, 127))
      ->default_str(std::to_string(Settings{}.ranks));
  app.add_option("--backend", settings.backend, "what the workers are: threads or mpi")
      ->check(CLI::IsMember({"threads", "mpi"}));
  app.add_option("--order", order,
                 "in which MPI adds: that of the ranks, the same bits everywhere, or the vendor's")
      ->check(CLI::IsMember({"rank", "vendor"}));
  app.add_option("--network", settings.network, "what is trained")
      ->check(CLI::IsMember(network_names));
  auto* epochs = app.add_option("--epochs", settings.epochs, "how often each example is seen")
                     ->check(CLI::Range(1, 1000));
  app.add_option("--steps", settings.steps, "in place of --epochs: so many steps")
      ->check(CLI::Range(1, 1000000))
      ->excludes(epochs)
      ->default_str("");
  app.add_option("--evaluate", settings.evaluate_every,
                 "steps from one look at the test examples to the next; as a rule half an epoch")
      ->check(CLI::Range(1, 1000000))
      ->default_str("");
  app.add_option("--prune-from", settings.recipe.prune_from,
                 "step of the first pruning by magnitudes; as a rule after a tenth of all");
  app.add_option("--prune-until", settings.recipe.prune_until,
                 "step of the last one; as a rule after six tenths of all");
  app.add_option("--batch", settings.batch, "examples a step, of all workers together")
      ->check(CLI::Range(1, 60000));
  app.add_option("--seed", settings.seed, "of the first weights and the order of the examples");
  auto* by_name = app.add_option("--runs", runs,
                                 "what to train, by name; as a rule "
                                 "dense,pactrain-80,pactrain-90,pactrain-90-ternary")
                      ->delimiter(',');
  app.add_option("--compressor", by,
                 "in place of --runs: train dense, then with each of these, or with all there are;"
                 " pactrain prunes by 90 percent. They are:" +
                     about_all())
      ->delimiter(',')
      ->excludes(by_name);
  app.add_option("--output", settings.output, "directory for results.json and the picture");
  app.add_flag("--trace", settings.trace,
               "write what calls did to the output directory too: JSON lines, and a trace of the "
               "first steps that Perfetto opens, of each run and worker");
  app.add_option(
      "--data", settings.data,
      "directory with the four files of Fashion-MNIST, or a text file for the transformer; as a "
      "rule what Debian installs");
  app.get_formatter()->column_width(24);
  for (CLI::Option* option : app.get_options())
    if (option->get_items_expected_max() == 1 && option->get_default_str().empty())
      option->capture_default_str();
  try {
    app.parse(argc, argv);
    settings.order = order == "rank" ? pactrain::Order::rank : pactrain::Order::vendor;
    if (by.empty() && runs.empty())
      runs = {"dense", "pactrain-80", "pactrain-90", "pactrain-90-ternary"};
    if (by.size() == 1 && by[0] == "all") by = names();
    if (!by.empty()) runs = {"dense"};
    for (const std::string& name : by)
      if (name != "dense") runs.push_back(name);
    for (const std::string& name : runs)
      settings.runs.push_back(run_of(by.empty() ? "--runs" : "--compressor", name));
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    const int code = error.get_exit_code();
    if (!quiet) app.exit(error);
    return code;
  }
}

void check(const Settings& settings) {
  if (settings.batch % settings.ranks != 0) {
    const std::size_t below = settings.batch - settings.batch % settings.ranks;
    throw UsageError("a batch of " + std::to_string(settings.batch) +
                     " examples cannot be shared evenly by " + std::to_string(settings.ranks) +
                     " workers. Use --batch " + std::to_string(below + settings.ranks) + ".");
  }
}

}  // namespace demo
