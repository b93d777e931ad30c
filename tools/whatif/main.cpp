// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a training would scale like if its network were used fully: the what-if study (arXiv
// 2006.10103) on measured gradients.
#include "measured.hpp"

#include <pactrain/cost/what_if.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace pactrain::tools {
namespace {

struct Question {
  std::string file, add;
  std::vector<int> ranks{2, 4, 8, 16, 64};
  std::vector<double> rates{1e8, 1e9, 1e10, 1e11};
  std::vector<double> compressions{1, 2, 5, 10, 100};
  double batch_ms = 0, fusion_ms = 5, fusion_mib = 64;
  bool json = false;
};

template <class Read>
auto read(const std::string& name, Read reader) {
  std::ifstream in(name, std::ios::binary);
  if (!in) throw InputError(name + " cannot be opened; is its name right?");
  try {
    return reader(in);
  } catch (const InputError& error) {
    throw InputError(name + ": " + error.what());
  }
}

std::string rate_text(double bits) {
  char text[32];
  const bool giga = bits >= 1e9;
  std::snprintf(text, sizeof text, "%g %s", bits / (giga ? 1e9 : 1e6), giga ? "Gbit/s" : "Mbit/s");
  return text;
}

void print_table(const Question& question, const Measured& measured, double batch,
                 const FusionRule& rule, const AddTable& add) {
  double bytes = 0;
  for (const LayerGradient& layer : measured.layers) bytes += layer.bytes;
  std::printf("%zu gradients, %.2f MB, fused into %zu requests; a batch takes one rank %.2f ms\n\n",
              measured.layers.size(), bytes / 1e6, fuse(measured.layers, rule).size(), batch * 1e3);
  std::printf("%-12s %11s", "rate", "compression");
  for (const int ranks : question.ranks) std::printf("  %3d ranks", ranks);
  std::puts("");
  for (const double rate : question.rates) {
    for (const double compression : question.compressions) {
      std::printf("%-12s %11g", rate_text(rate).c_str(), compression);
      for (const int ranks : question.ranks) {
        const WhatIf result = what_if(measured.layers, {ranks, rate, compression, add}, rule);
        std::printf("  %9.5f", result.scaling_factor(batch));
      }
      std::puts("");
    }
  }
}

void print_json(const Question& question, const Measured& measured, double batch,
                const FusionRule& rule, const AddTable& add) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const double rate : question.rates) {
    for (const double compression : question.compressions) {
      for (const int ranks : question.ranks) {
        const WhatIf result = what_if(measured.layers, {ranks, rate, compression, add}, rule);
        all.push_back({{"rate", rate},
                       {"compression", compression},
                       {"ranks", ranks},
                       {"requests", result.on_wire.size()},
                       {"batch_seconds", batch},
                       {"overhead_seconds", result.overhead()},
                       {"scaling_factor", result.scaling_factor(batch)}});
      }
    }
  }
  std::cout << all.dump(2) << '\n';
}

void answer(const Question& question) {
  const Measured measured = read(question.file, read_measured);
  const AddTable add = question.add.empty() ? AddTable{} : read(question.add, read_add_table);
  if (question.batch_ms <= 0 && !measured.batch_seconds) {
    throw InputError(question.file +
                     " does not tell how long one rank alone takes for a batch; say so by "
                     "--batch-ms");
  }
  const double batch = question.batch_ms > 0 ? question.batch_ms * 1e-3 : *measured.batch_seconds;
  const FusionRule rule{question.fusion_ms * 1e-3, question.fusion_mib * (1 << 20)};
  (question.json ? print_json : print_table)(question, measured, batch, rule, add);
}

int run(int argc, char** argv) {
  Question question;
  CLI::App app{
      "The scaling factor of a training, for any number of ranks, rate and compression, if the\n"
      "network were used fully: 1 is as many times one rank's throughput as there are ranks.",
      "pactrain_whatif"};
  const std::map<std::string, double> units{
      {"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}};
  app.add_option("file", question.file,
                 "a trace of GradientBuckets, or comma-separated values with columns bytes and "
                 "ready_seconds or ready_ms")
      ->required();
  app.add_option("--ranks", question.ranks, "numbers of ranks")
      ->delimiter(',')
      ->check(CLI::Range(1, 1000000));
  app.add_option("--rate", question.rates, "of each rank's link, like 100mbit or 10gbit")
      ->delimiter(',')
      ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_INSENSITIVE, "RATE"))
      ->check(CLI::Range(1.0, 1e15));
  app.add_option("--compression", question.compressions, "bytes before over bytes after")
      ->delimiter(',')
      ->check(CLI::Range(1.0, 1e9));
  app.add_option("--batch-ms", question.batch_ms,
                 "milliseconds of a batch on one rank; a trace tells it")
      ->check(CLI::Range(1e-6, 1e12));
  app.add_option("--fusion-ms", question.fusion_ms, "milliseconds after which gradients are sent")
      ->check(CLI::Range(0.0, 1e12))
      ->capture_default_str();
  app.add_option("--fusion-mib", question.fusion_mib, "MiB after which gradients are sent")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app.add_option("--add", question.add,
                 "comma-separated values with columns bytes and seconds: what adding two vectors "
                 "takes; nothing without it");
  app.add_flag("--json", question.json, "print a list of JSON objects");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  answer(question);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace pactrain::tools

int main(int argc, char** argv) {
  try {
    return pactrain::tools::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "pactrain_whatif: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
