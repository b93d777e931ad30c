// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/policy_support.hpp>

#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <source_location>
#include <span>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

Model three() {
  Model model;
  model.add("fc1", 3);
  model.add("", 0);
  model.add("fc2", 2);
  return model;
}

TEST_CASE("parts follow each other") {
  const Model model = three();
  CHECK(model.size() == 5);
  REQUIRE(model.parts().size() == 3);
  CHECK(model.parts()[1].name == "parameter 1");
  CHECK(model.parts()[2].first == 3);
  const std::size_t part_at[] = {0, 0, 0, 2, 2};
  for (std::size_t i = 0; i < 5; ++i) CHECK(model.part_at(i) == part_at[i]);
  CHECK(model.part_named("fc2") == 2);
  CHECK(model.part_named("fc3") == 3);
  CHECK(model.describe(4) == "entry 1 of 'fc2'");
  CHECK(model.describe(5) == "entry 5");
  CHECK(Model().size() == 0);
}

TEST_CASE("layouts are told apart by their sizes, and by their names") {
  const auto of = [](const std::vector<std::size_t>& sizes) {
    Model model;
    for (const std::size_t size : sizes) model.add("", size);
    return model.fingerprint();
  };
  CHECK(three().fingerprint() == three().fingerprint());
  CHECK(of({3, 0, 2}) != three().fingerprint());
  Model swapped;
  for (const char* name : {"b", "a"}) swapped.add(name, 1);
  Model ordered;
  for (const char* name : {"a", "b"}) ordered.add(name, 1);
  CHECK(swapped.fingerprint() != ordered.fingerprint());
  CHECK_THROWS_AS(ordered.add("a", 3), PreconditionError);
  CHECK(of({3, 2}) != of({2, 3}));
  CHECK(of({5}) != of({2, 3}));
  CHECK(of({}) != of({0}));
  CHECK(of({0, 5}) != of({5, 0}));
}

TEST_CASE("matrices have rows that fit, and shapes that ranks can compare") {
  Model model, other;
  model.add("w", 12, 3);
  model.add("v", 5);
  CHECK(model.parts()[0].rows == 3);
  CHECK(model.parts()[1].rows == 0);
  const auto message = message_of<PreconditionError>([&] { model.add("u", 12, 5); });
  CHECK(message.find("'u' has 12 entries and 5 rows") != std::string::npos);
  CHECK(model.part_named("u") == 2);  // it is not there
  model.add("u", 0, 5);
  other.add("w", 12, 4);
  other.add("v", 5, 1);
  other.add("u", 0, 5);
  CHECK(model.fingerprint() == other.fingerprint());
  CHECK(model.shapes() != other.shapes());
  Model third;
  third.add("w", 12, 3);
  third.add("v", 5, 1);  // a matrix of one row is a vector
  third.add("u", 0, 5);
  CHECK(model.shapes() == third.shapes());
}

TEST_CASE("runs are cut at the edges of parts") {
  const Model model = three();
  float values[4]{};
  std::vector<Piece<float>> pieces;
  cut(model, 1, 4, values, pieces);
  REQUIRE(pieces.size() == 2);
  CHECK(pieces[0].part == 0);
  CHECK(pieces[0].at == 1);
  CHECK(pieces[0].first == 1);
  CHECK(pieces[0].size == 2);
  CHECK(pieces[0].data == values);
  CHECK(pieces[1].part == 2);
  CHECK(pieces[1].at == 0);
  CHECK(pieces[1].first == 3);
  CHECK(pieces[1].values().size() == 2);
  CHECK(pieces[1].as_const().data == values + 2);
  cut<float>(model, 4, 1, nullptr, pieces);
  CHECK(pieces[2].data == nullptr);
  CHECK(pieces[2].at == 1);
  cut(model, 5, 0, values, pieces);
  CHECK(pieces.size() == 3);
}

TEST_CASE("values of a type known at run time") {
  std::vector<double> a{1, 2}, b{3};
  const std::vector<Slice<const double>> list{{"a", a}, {"b", b}};
  const Values values(list);
  CHECK(values.type() == ValueType::float64);
  CHECK(values.size() == 3);
  CHECK(values.as<double>(1)[0] == 3);
  CHECK(values.as<double>(0).data() == a.data());
  CHECK(model_of(values).part_named("b") == 1);

  std::vector<bfloat16> halves(4);
  const Values one(halves);
  CHECK(one.type() == ValueType::bfloat16);
  CHECK(one.parts().size() == 1);
  CHECK(model_of(one).parts()[0].name == "parameter 0");
  CHECK(Values().empty());
  CHECK(Values().size() == 0);
}

TEST_CASE("broken preconditions say where and what") {
  expects(true, "fine");
  const auto message = message_of<PreconditionError>([] { expects(false, "it is not so"); });
  CHECK(message.find("pactrain: it is not so [") == 0);
  int built = 0;
  const auto text = [&] { return "made " + std::to_string(++built); };
  expects(true, text);
  CHECK(built == 0);
  CHECK(message_of<PreconditionError>([&] { expects(false, text); }) == "pactrain: made 1");
  const RankMismatch mismatch("pactrain: rank 2 differs", 2, "size");
  CHECK(mismatch.rank() == 2);
  CHECK(mismatch.field() == "size");
}

}  // namespace
