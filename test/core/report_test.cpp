// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is written about calls: JSON lines, a summary, and the stages in a trace.
#include <pactrain/compress/ternary.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/json_lines.hpp>
#include <pactrain/core/summary.hpp>
#include <pactrain/core/trace.hpp>
#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/host/backend.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace pactrain;

namespace {

Report example() {
  Report report{.step = 7,
                .entries = 100,
                .kept = 25,
                .payload_bytes = 104,
                .bytes_sent = 150,
                .dense_bytes = 600,
                .path = Path::packed};
  report.calls[0] = 2;
  report.seconds.pack = 0.25;
  report.seconds.collective = 0.5;
  return report;
}

}  // namespace

TEST_CASE("a report is one line of JSON") {
  std::ostringstream out;
  JsonLines lines(out, 3);
  Report report = example();
  lines.write(report);
  report.quality = std::numeric_limits<double>::quiet_NaN();
  report.non_finite = true;
  report.calls = {0, 0, 1, 1};
  report.seconds.pack = 1.0 / 3;
  lines.write(report);
  const std::string before = R"({"rank":3,"step":7,"entries":100,"kept":25,"payload_bytes":104,)"
                             R"("bytes_sent":150,"dense_bytes":600,"path":"packed",)";
  CHECK(out.str() ==
        before +
            R"("calls":{"packed":2},"non_finite":false,"seconds":{"keep":0,"pack":0.25,"encode":0,)"
            R"("collective":0.5,"decode":0,"unpack":0,"commit":0}})"
            "\n" +
            before +
            R"("calls":{"dense":1,"local":1},"non_finite":true,"quality":null,"seconds":{"keep":0,)"
            R"("pack":0.3333333333333333,"encode":0,"collective":0.5,"decode":0,"unpack":0,)"
            R"("commit":0}})"
            "\n");
  out.setstate(std::ios::badbit);
  CHECK_THROWS_AS(lines.write(report), Error);
}

TEST_CASE("a summary adds up a training") {
  Summary summary;
  summary.add(example());
  Report dense = example();
  dense.kept = 100;
  dense.path = Path::dense;
  dense.calls = {0, 0, 1, 0};
  dense.bytes_sent = 1'500'000;
  dense.dense_bytes = 3'000'000'000;
  dense.non_finite = true;
  summary.add(dense);  // of the same step
  dense.step = 8;
  dense.kept = 25;
  summary.add(dense);
  CHECK(summary.steps() == 2);
  CHECK(summary.calls(Path::packed) == 2);
  CHECK(summary.calls(Path::dense) == 2);
  CHECK(summary.bytes_sent() == 3'000'150);
  CHECK(summary.dense_bytes() == 6'000'000'600);
  CHECK(summary.seconds().total() == doctest::Approx(2.25));
  std::ostringstream out;
  summary.print(out);
  CHECK(out.str() ==
        "steps    2: 2 packed 2 dense, 2 with an infinity or a NaN\n"
        "kept     25.00 % of the entries in the last\n"
        "sent     3.00 MB, dense 6.00 GB: 1999.9 times as many\n"
        "seconds  2.250: pack 0.750 collective 1.500\n");
  std::ostringstream nothing;
  Summary{}.print(nothing);
  CHECK(nothing.str().find("sent     0 B, dense 0 B\n") != std::string::npos);
}

TEST_CASE("the reports of buckets count their calls together") {
  Report all = example();
  Report other = example();
  other.calls = {0, 1, 0, 0};
  all += other;
  CHECK(all.calls[0] == 2);
  CHECK(all.calls[1] == 1);
}

TEST_CASE("stages of calls are intervals of a trace, within each other or apart") {
  on_threads(2, [](HostBackend& backend) {
    DenseAllReduce<HostBackend, Ternary> reduce{backend};
    std::vector<float> gradient(1000, 1.0f);
    reduce(gradient);
    Trace trace;
    backend.executor().record(&trace);
    const Report report = reduce(gradient);
    backend.executor().record(nullptr);
    reduce(gradient);
    std::set<std::string> names;
    std::chrono::duration<double> packing{0};
    for (const Trace::Interval& x : trace.intervals()) {
      CHECK(x.row == "stages");
      CHECK(x.begin <= x.end);
      names.insert(x.name);
      if (x.name == "pack") packing += x.end - x.begin;
      for (const Trace::Interval& y : trace.intervals()) {
        const bool apart = x.end <= y.begin || y.end <= x.begin;
        const bool within =
            (x.begin <= y.begin && y.end <= x.end) || (y.begin <= x.begin && x.end <= y.end);
        CHECK((apart || within));
      }
    }
    const std::set<std::string> expected{"pack",   "keep",   "encode", "collective",
                                         "decode", "unpack", "commit"};
    CHECK(std::ranges::includes(names, expected));
    CHECK(packing.count() >= report.seconds.pack);  // the same, seen from outside
    CHECK(packing.count() <= report.seconds.pack + 1);
  });
}
