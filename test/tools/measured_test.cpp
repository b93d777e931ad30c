// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `pactrain_whatif` reads: comma-separated values, traces as GradientBuckets writes them, and
// files that are neither.
#include <pactrain/cost/what_if.hpp>
#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/gradient_buckets.hpp>
#include <pactrain/host/backend.hpp>

#include <doctest/doctest.h>
#include <whatif/measured.hpp>

#include <sstream>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::tools;

namespace {

Measured measured(const std::string& text) {
  std::istringstream in(text);
  return read_measured(in);
}
/// What is said of a file.
std::string said(const std::string& text) {
  try {
    measured(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing";
}
void check_said(const std::string& text, const std::string& part) {
  const std::string all = said(text);
  CHECK_MESSAGE(all.find(part) != std::string::npos, all);
}

const std::string rows =
    R"({"ph":"M","pid":1,"tid":0,"name":"thread_name","args":{"name":"ready"}},)"
    R"({"ph":"M","pid":1,"tid":4,"name":"thread_name","args":{"name":"computing"}})";
std::string ready(int step, const std::string& name, double microseconds, double bytes) {
  std::ostringstream out;
  out << R"(,{"ph":"X","pid":1,"tid":0,"name":")" << name << R"(","ts":)" << microseconds
      << R"(,"dur":0,"args":{"step":)" << step << R"(,"bytes":)" << bytes << "}}";
  return out.str();
}
std::string computing(int step, double microseconds) {
  std::ostringstream out;
  out << R"(,{"ph":"X","pid":1,"tid":4,"name":"step","ts":0,"dur":)" << microseconds
      << R"(,"args":{"step":)" << step << "}}";
  return out.str();
}

}  // namespace

TEST_CASE("the study's example, as comma-separated values") {
  for (const std::string text : {"layer,ready_ms,bytes\nc,2,10e6\nb,6,20e6\na,7,5e6\n",
                                 "bytes, ready_seconds\r\n# all of it\r\n1e7,0.002\r\n\r\n"
                                 "\"20000000\" ,0.006\r\n5000000,0.007"}) {
    const Measured found = measured(text);
    REQUIRE(found.layers.size() == 3);
    CHECK(!found.batch_seconds);
    const WhatIf result = what_if(found.layers, {.ranks = 4, .rate = 10e9});
    CHECK(result.scaling_factor(20e-3) == doctest::Approx(0.32787).epsilon(1e-5));
  }
  const Measured backwards = measured("ready_seconds,bytes\n2,1\n1,1\n3,1\n");
  CHECK(backwards.layers[1].wait == 0);
  CHECK(backwards.layers[2].wait == 1);
}

TEST_CASE("comma-separated values that cannot be used say where and why") {
  check_said("", "the file is empty");
  check_said("# nothing\n", "the file is empty");
  check_said("ready_ms,size\n1,2\n", "no column is called 'bytes'");
  check_said("when,bytes\n1,2\n", "no column is called 'ready_seconds'");
  check_said("ready_ms,bytes\n1,2\n1\n", "line 3 has 1 fields where the first line names 2");
  check_said("ready_ms,bytes\n1,two\n", "line 2: 'two' in column bytes is no number");
  check_said("ready_ms,bytes\n\n-1,2\n", "line 3: '-1' in column ready_ms is no number");
  check_said("ready_ms,bytes\nnan,2\n", "is no number");
  check_said("ready_ms,bytes\n1,1e999\n", "is no number");
  check_said("ready_ms,bytes\n1,1e20\n", "larger than can be");
  check_said("ready_ms,bytes\n1,0\n", "the gradients have no bytes");
  check_said("ready_ms,bytes\n", "the gradients have no bytes");
  check_said(std::string("ready_ms,bytes\n1,\x1b[2J\n"), "'?[2J'");
}

TEST_CASE("a trace is averaged over its steps, without the first") {
  std::string text = "[" + rows;
  for (int step = 0; step < 7; ++step) {
    const double start = 1000.0 * step, slow = step < 5 ? 100 : step == 5 ? 10 : 20;
    text += ready(step, "b", start, 20) + ready(step, "a", start + slow, 5) +
            computing(step, 500 + slow);
  }
  const Measured found = measured(text + "]");
  CHECK(found.steps == 2);
  REQUIRE(found.layers.size() == 2);
  CHECK(found.layers[0].wait == 0);
  CHECK(found.layers[0].bytes == 20);
  CHECK(found.layers[1].wait == doctest::Approx(15e-6));
  CHECK(found.layers[1].bytes == 5);
  REQUIRE(found.batch_seconds);
  CHECK(*found.batch_seconds == doctest::Approx(515e-6));
  CHECK(measured(R"({"traceEvents":[)" + rows + ready(0, "a", 0, 8) + "]}").layers.size() == 1);
}

TEST_CASE("a trace that cannot be used says why") {
  check_said("[", "the trace is no JSON");
  check_said("{}", "this JSON is no trace");
  check_said("[]", "no row of the trace is called 'ready'");
  check_said("[1,null,{\"name\":\"thread_name\",\"args\":[]}]", "no row of the trace");
  check_said("[" + rows + "]", "is empty");
  check_said("[" + rows + R"(,{"ph":"X","pid":1,"tid":0,"name":"a","ts":1}])", "no 'step'");
  check_said("[" + rows + R"(,{"ph":"X","pid":1,"tid":0,"ts":1,"args":{"step":1}}])", "no 'bytes'");
  check_said("[" + rows + R"(,{"ph":"X","pid":1,"tid":0,"args":{"step":1}}])", "no time 'ts'");
  check_said("[" + rows + ready(0, "a", 1, 8) + ready(0, "a", 2, 8) + "]", "ready twice");
  check_said("[" + rows + ready(0, "a", 1, 8) + ready(1, "a", 2, 9) + "]", "other gradients");
  check_said("[" + rows + ready(0, "a", 1, 8) + ready(1, "a", 2, 8) + ready(1, "b", 2, 8) + "]",
             "other gradients");
  check_said("[" + rows + ready(0, "a", 1, 0) + "]", "no bytes");
  check_said("[" + rows + ready(0, "a", 1, 8) + computing(0, -1) + "]", "no duration");
}

TEST_CASE("what GradientBuckets records is what the tool reads") {
  HostBackend backend;
  DenseAllReduce<HostBackend> reduce{backend};
  std::vector<float> a(100), b(50);
  const std::vector<Slice<float>> slices{{"a", a}, {"b", b}};
  Trace trace{0};
  GradientBuckets buckets{reduce, slices, {.bytes = 100, .trace = &trace}};
  for (int step = 0; step < 7; ++step) {
    buckets.ready("b");
    buckets.ready("a");
    buckets.finish();
  }
  std::ostringstream out;
  trace.write(out);
  const Measured found = measured(out.str());
  CHECK(found.steps == 2);
  REQUIRE(found.layers.size() == 2);
  CHECK(found.layers[0].bytes == 200);
  CHECK(found.layers[1].bytes == 400);
  CHECK(found.batch_seconds);
}

TEST_CASE("the cost of adding is read from a table") {
  std::istringstream in("bytes,seconds\n100,1\n300,3\n"), none("bytes,seconds\n");
  CHECK(read_add_table(in)(200) == doctest::Approx(2));
  CHECK_THROWS_AS(static_cast<void>(read_add_table(none)), InputError);
}
