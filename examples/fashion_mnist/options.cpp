// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "options.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace demo {
namespace {

const std::vector<std::string> codecs = {"identity", "float16", "bfloat16", "int8", "ternary"};

bool is_codec(const std::string& name) {
  return std::find(codecs.begin(), codecs.end(), name) != codecs.end();
}

std::string name_of(double sparsity, const std::string& codec) {
  char percent[32];
  std::snprintf(percent, sizeof percent, "%g", 100 * sparsity);
  const std::string name = std::string("pactrain-") + percent;
  return codec == "identity" ? name : name + "-" + codec;
}

/// A run by its name: dense, pactrain-PERCENT or pactrain-PERCENT-CODEC.
Run run_of(const std::string& name) {
  if (name == "dense") return {.name = name};
  const std::string prefix = "pactrain-";
  if (name.starts_with(prefix)) {
    const char* const first = name.c_str() + prefix.size();
    char* last = nullptr;
    const double percent = std::strtod(first, &last);
    const std::string codec = *last == '-' ? last + 1 : *last == '\0' ? "identity" : "";
    if (last != first && percent >= 0 && percent < 100 && is_codec(codec))
      return {.name = name, .dense = false, .sparsity = percent / 100, .codec = codec};
  }
  throw CLI::ValidationError("--runs", "there is no run " + name +
                                           ". Runs are dense, pactrain-PERCENT and "
                                           "pactrain-PERCENT-CODEC, as in pactrain-90-ternary.");
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
      "Trains a perceptron on Fashion-MNIST with several workers, once with all gradients and "
      "again with the network pruned while it is trained, and compares accuracy and traffic.");
  std::vector<std::string> runs;
  std::vector<double> sparsities;
  std::vector<std::string> with_codecs;
  app.add_option("--ranks", settings.ranks, "number of workers; under mpirun that of its processes")
      ->check(CLI::Range(1, 127))
      ->default_str(std::to_string(Settings{}.ranks));
  app.add_option("--backend", settings.backend, "what the workers are: threads or mpi")
      ->check(CLI::IsMember({"threads", "mpi"}));
  app.add_option("--epochs", settings.epochs, "how often each picture is seen")
      ->check(CLI::Range(1, 1000));
  app.add_option("--batch", settings.batch, "pictures a step, of all workers together")
      ->check(CLI::Range(1, 60000));
  app.add_option("--seed", settings.seed, "of the first weights and the order of the pictures");
  auto* by_name = app.add_option("--runs", runs,
                                 "what to train, by name; as a rule " +
                                     std::string("dense,pactrain-80,pactrain-90,"
                                                 "pactrain-90-ternary"))
                      ->delimiter(',');
  app.add_option("--sparsity", sparsities,
                 "in place of --runs: train dense, then pruned by each of these parts (0.9)")
      ->delimiter(',')
      ->excludes(by_name);
  app.add_option("--codec", with_codecs,
                 "in place of --runs: train dense, then pruned with each of these codecs")
      ->delimiter(',')
      ->check(CLI::IsMember(codecs))
      ->excludes(by_name);
  app.add_option("--output", settings.output, "directory for results.json and the picture");
  app.add_option("--data", settings.data, "directory with the four files of Fashion-MNIST");
  app.get_formatter()->column_width(24);
  for (CLI::Option* option : app.get_options())
    if (option->get_items_expected_max() == 1 && option->get_default_str().empty())
      option->capture_default_str();
  try {
    app.parse(argc, argv);
    for (const double sparsity : sparsities)
      if (!(sparsity >= 0 && sparsity < 1))
        throw CLI::ValidationError("--sparsity",
                                   "is the part of the weights that is pruned, at "
                                   "least 0 and below 1: 0.9 for 90 percent.");
    if (sparsities.empty() && with_codecs.empty() && runs.empty())
      runs = {"dense", "pactrain-80", "pactrain-90", "pactrain-90-ternary"};
    for (const std::string& name : runs) settings.runs.push_back(run_of(name));
    if (!runs.empty()) return std::nullopt;
    if (sparsities.empty()) sparsities = {0.9};
    if (with_codecs.empty()) with_codecs = {"identity"};
    settings.runs.push_back(run_of("dense"));
    for (const double sparsity : sparsities)
      for (const std::string& codec : with_codecs)
        settings.runs.push_back({.name = name_of(sparsity, codec),
                                 .dense = false,
                                 .sparsity = sparsity,
                                 .codec = codec});
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
                     " pictures cannot be shared evenly by " + std::to_string(settings.ranks) +
                     " workers. Use --batch " + std::to_string(below + settings.ranks) + ".");
  }
}

}  // namespace demo
