// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plot.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>

namespace demo {
namespace {

// Two panels that share a legend. The colours are Okabe and Ito's, which most eyes tell apart.
constexpr const char* head = R"gp(set terminal pngcairo size 1300,560 font "Sans,11"
set output "accuracy.png"
set linetype 1 lc rgb "#000000" pt 7
set linetype 2 lc rgb "#0072b2" pt 5
set linetype 3 lc rgb "#d55e00" pt 9
set linetype 4 lc rgb "#009e73" pt 13
set linetype 5 lc rgb "#cc79a7" pt 11
set linetype 6 lc rgb "#e69f00" pt 4
set linetype 7 lc rgb "#56b4e9" pt 6
set linetype cycle 7
set style data linespoints
set grid lt 1 lc rgb "#cccccc" lw 0.5
set ylabel "test accuracy (%)"
set key bottom right box lc rgb "#dddddd" opaque
set multiplot layout 1,2 margins 0.06,0.97,0.11,0.92 spacing 0.07
)gp";
constexpr const char* left = R"gp(set xlabel "steps"
)gp";
constexpr const char* right = R"gp(set title "The same by traffic"
set xlabel "MB sent by each worker (logarithmic)"
set logscale x
set format x "%g"
set mxtics 10
unset key
)gp";

void write_curves(std::ostream& out, const std::vector<Result>& results, const char* column) {
  for (std::size_t i = 0; i < results.size(); ++i)
    out << (i == 0 ? "plot " : ", \\\n     ") << "\"accuracy.dat\" index " << i << " using "
        << column << ":3 lw 2 ps 1.2 title \"" << results[i].run.name << '"';
  out << '\n';
}

/// Where the axis of accuracies begins: the first points, far below the last, would flatten the
/// rest.
double lowest_shown(const std::vector<Result>& results) {
  double lowest = 1;
  for (const Result& result : results) lowest = std::min(lowest, result.accuracy);
  return std::max(0.0, std::floor(100 * lowest) - 8);
}

/// Runs gnuplot in the directory; gives its exit status, or -1 where it could not be started.
int run_gnuplot(const std::filesystem::path& directory) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  std::string program = "gnuplot", script = "accuracy.gp";
  char* arguments[] = {program.data(), script.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed != 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace

std::string plot(const std::filesystem::path& directory, const std::string& title,
                 const std::vector<Result>& results) {
  std::ofstream data(directory / "accuracy.dat");
  data << "# step, megabytes sent by each worker, test accuracy in percent\n";
  for (const Result& result : results) {
    data << "# " << result.run.name << '\n';
    for (const Point& point : result.curve)
      data << point.step << ' ' << point.bytes_sent / 1e6 << ' ' << 100 * point.accuracy << '\n';
    data << "\n\n";
  }
  data.close();
  std::ofstream script(directory / "accuracy.gp");
  script << head << "set title \"" << title << "\"\n"
         << left << "set yrange [" << lowest_shown(results) << ":*]\n";
  write_curves(script, results, "1");
  script << right;
  write_curves(script, results, "2");
  script << "unset multiplot\n";
  script.close();
  if (!data || !script) return "cannot write into " + directory.string();
  const int status = run_gnuplot(directory);
  if (status == 0) return {};
  if (status == 127 || status == -1)
    return "gnuplot did not start. Install it (apt-get install gnuplot-nox) and run gnuplot "
           "accuracy.gp in " +
           directory.string();
  return "gnuplot failed on " + (directory / "accuracy.gp").string();
}

}  // namespace demo
