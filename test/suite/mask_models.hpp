// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/mask.hpp>
#include <suite/mask_checks.hpp>
#include <suite/mask_sets.hpp>
#include <suite/world.hpp>

#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

/// What single representations promise beyond the concept: their errors, widths and bytes.
namespace pactrain::test::mask {

/// One entry more or less, anywhere, gives another fingerprint; another representation does not.
template <World W>
void fingerprints_tell_sets_apart() {
  on_one<W>([](auto& backend) {
    auto& exec = backend.executor();
    const Model model = model_with(std::vector<std::size_t>{10, 0, 53, 1, 70, 513, 7});
    Set set = random_set(model.size(), Density::half, 8);
    mask_of<BitMask, W> bits;
    mask_of<IndexMask, W> indices;
    assign(exec, bits, model, set);
    bits.end(exec);
    const std::uint64_t fingerprint = bits.fingerprint(exec, 0, model.size());
    for (std::size_t p = 0; p < set.size(); ++p) {
      set[p].flip();
      assign(exec, indices, model, set, p);
      indices.end(exec);
      CHECK(indices.fingerprint(exec, 0, model.size()) != fingerprint);
      set[p].flip();
    }
    assign(exec, indices, model, set);
    indices.end(exec);
    CHECK(indices.fingerprint(exec, 0, model.size()) == fingerprint);
  });
}

/// The message of the PreconditionError that `f` throws, or nothing.
template <class F>
std::string complaint(F f) {
  try {
    f();
  } catch (const PreconditionError& error) {
    return error.what();
  }
  return {};
}
inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline Model named_model() {
  Model model;
  model.add("fc1.weight", 10);
  model.add("fc1.bias", 7);
  return model;
}
/// Of `named_model()`, two of each four; the last groups have two and three entries.
inline Set two_of_four() { return {1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 1, 0, 0, 1, 0, 1, 1}; }

template <World W>
void n_of_m_names_the_group() {
  on_one<W>([](auto& backend) {
    auto& exec = backend.executor();
    const Model model = named_model();
    for (const std::uint64_t seed : {0u, 1u, 2u, 3u, 4u, 5u}) {
      mask_of<NofMMask<2, 4>, W> mask;
      Set set = two_of_four();
      set[6] = true;
      set[12] = true;
      assign(exec, mask, model, set, seed);
      const std::string at_6 = complaint([&] { mask.end(exec); });
      CHECK(has(at_6, "group 1 of 'fc1.weight'"));
      CHECK(has(at_6, "keeps 3 entries where NofMMask<2, 4> holds 2"));
      CHECK(has(at_6, "NofM<2, 4>, or a BitMask"));
      set = two_of_four();
      set[15] = false;
      assign(exec, mask, model, set, seed);
      const std::string at_15 = complaint([&] { mask.end(exec); });
      CHECK(has(at_15, "group 1 of 'fc1.bias'"));
      CHECK(has(at_15, "keeps 1 entries"));
      assign(exec, mask, model, two_of_four(), seed);
      mask.end(exec);
      check_holds(exec, mask, model, two_of_four());
    }
  });
}

/// Where one rank's set, or the union, breaks the rule, every rank hears the same.
template <World W>
void n_of_m_refuses_on_all_ranks() {
  on_each<W>([](auto& backend) {
    auto& exec = backend.executor();
    auto& comm = backend.communicator();
    const Model model = named_model();
    mask_of<NofMMask<2, 4>, W> mask;
    for (int differs = 0; differs < comm.size(); ++differs) {
      Set set = two_of_four();
      if (comm.rank() == differs) set[4] = true;  // three of four
      assign(exec, mask, model, set, 1);
      CHECK(has(complaint([&] { mask.unite(exec, comm); }), "group 1 of 'fc1.weight'"));
      assign(exec, mask, model, set, 1);
      CHECK(
          has(complaint([&] { mask.broadcast(exec, comm, differs); }), "group 1 of 'fc1.weight'"));
      set = two_of_four();
      if (comm.rank() == differs) {
        set[11] = true;  // another two of four
        set[12] = true;
        set[10] = set[13] = false;
      }
      assign(exec, mask, model, set, 1);
      mask.end(exec);
      const std::string why = complaint([&] { mask.unite(exec, comm); });
      CHECK(has(why, "group 0 of 'fc1.bias'") == (comm.size() > 1));
    }
    mask.begin(exec, model);
    CHECK(has(complaint([&] { mask.unite(exec, comm); }), "group 0 of 'fc1.weight'"));
  });
}

template <World W>
void full_refuses_on_all_ranks() {
  on_each<W>([](auto& backend) {
    auto& exec = backend.executor();
    auto& comm = backend.communicator();
    const Model model = named_model();
    const Set all(model.size(), true);
    mask_of<FullMask, W> mask;
    for (int differs = 0; differs < comm.size(); ++differs) {
      Set set = all;
      if (comm.rank() == differs) set[11] = set[13] = false;
      assign(exec, mask, model, set, 2);
      if (comm.rank() == differs) {
        CHECK(has(complaint([&] { mask.end(exec); }), "entry 1 of 'fc1.bias' is not kept"));
      }
      const std::string why = complaint([&] { mask.unite(exec, comm); });
      CHECK(has(why, "entry 1 of 'fc1.bias'") == (comm.size() == 1));
      if (comm.size() > 1) check_holds(exec, mask, model, all);
      assign(exec, mask, model, set, 2);
      CHECK(has(complaint([&] { mask.broadcast(exec, comm, differs); }), "entry 1 of 'fc1.bias'"));
    }
  });
}

/// Notes the slots of positions from `first` on.
struct SlotAtPosition {
  std::size_t* slots;
  std::size_t first;
  PACTRAIN_FN void operator()(std::size_t slot, std::size_t position) const {
    slots[position - first] = slot;
  }
};

/// Positions beyond 2^32, without the memory or the time that so many entries would take.
template <World W>
void indices_are_as_wide_as_needed() {
  on_each<W>([](auto& backend) {
    auto& exec = backend.executor();
    auto& comm = backend.communicator();
    Model model;
    model.add("large", std::size_t{1} << 32);
    model.add("small", 1000);
    const std::size_t first = std::size_t{1} << 32;
    const Set set = random_set(1000, Density::half, 4);
    const auto keep = flags(exec, set);
    mask_of<IndexMask, W> mask;
    mask.begin(exec, model);
    mask.assign(exec, Piece<const float>{0, 5, 5, 3}, KeepFlags{keep.view().data(), 0});
    mask.assign(exec, Piece<const float>{1, 0, first, 1000}, KeepFlags{keep.view().data(), 0});
    mask.end(exec);
    const auto check = [&](const auto& held) {
      CHECK(held.count() == 3 - static_cast<std::size_t>(!set[0] + !set[1] + !set[2]) +
                                static_cast<std::size_t>(std::count(set.begin(), set.end(), true)));
      const std::size_t before = held.slot(exec, first);
      CHECK(held.slot(exec, 0) == 0);
      const Array<std::size_t, typename W::backend_type::executor_type> found(exec, 1000, unset);
      held.visit(exec, first, first + 1000, SlotAtPosition{found.span().data(), first});
      std::vector<std::size_t> expected(1000, unset);
      for (std::size_t p = 0, slot = before; p < 1000; ++p) {
        if (set[p]) expected[p] = slot++;
      }
      CHECK(found.read() == expected);
    };
    check(mask);
    CHECK(mask.bytes() < 100'000);
    mask_of<IndexMask, W> loaded;
    load(exec, loaded, model, save(exec, mask));
    check(loaded);
    loaded.broadcast(exec, comm, 0);
    check(loaded);
    CHECK(loaded.fingerprint(exec, first, first + 1000) ==
          mask.fingerprint(exec, first, first + 1000));
  });
}

template <World W>
void bytes_are_as_promised() {
  on_one<W>([](auto& backend) {
    auto& exec = backend.executor();
    const auto bytes = [&]<class Mask>(std::size_t n, Density density) {
      const Model model = model_with(std::vector<std::size_t>{n});
      mask_of<Mask, W> mask;
      assign(exec, mask, model, Holds<Mask>::asked(model, random_set(n, density, 3)));
      mask.end(exec);
      return mask.bytes();
    };
    constexpr std::size_t n = 65536, little = 1024;
    CHECK(bytes.template operator()<BitMask>(n, Density::half) <= n / 8 + n / 64 + little);
    CHECK(bytes.template operator()<IndexMask>(n, Density::all) <= 2 * n + n / 128 + little);
    CHECK(bytes.template operator()<IndexMask>(n + 1, Density::all) >= 4 * n);
    CHECK(bytes.template operator()<BlockMask<16>>(n, Density::half) <=
          n / 128 + n / 1024 + little);
    CHECK(bytes.template operator()<NofMMask<2, 4>>(n, Density::half) <= n / 8 + little);
    CHECK(bytes.template operator()<NofMMask<1, 4>>(n, Density::half) <= n / 16 + little);
    CHECK(bytes.template operator()<NofMMask<1, 16>>(n, Density::half) <= n / 32 + little);
    CHECK(bytes.template operator()<FullMask>(n, Density::all) <= little);
  });
}

template <World W>
void pieces_come_in_order() {
  on_one<W>([](auto& backend) {
    auto& exec = backend.executor();
    const Model model = named_model();
    const Piece<const float> second{1, 0, 10, 7}, first{0, 0, 0, 10};
    const auto keep = flags(exec, Set(17, true));
    const KeepFlags all{keep.view().data(), 0};
    mask_of<IndexMask, W> indices;
    indices.begin(exec, model);
    indices.assign(exec, second, all);
    CHECK_THROWS_AS(indices.assign(exec, first, all), PreconditionError);
    mask_of<NofMMask<2, 4>, W> groups;
    groups.begin(exec, model);
    CHECK_THROWS_AS(groups.assign(exec, second, all), PreconditionError);
    mask_of<FullMask, W> full;
    full.begin(exec, model);
    CHECK_THROWS_AS(full.assign(exec, second, all), PreconditionError);
    full.assign(exec, first, all);
    CHECK_THROWS_AS(full.end(exec), PreconditionError);
  });
}

TEST_CASE_TEMPLATE_DEFINE("mask models", W, mask_model_suite) {
  SUBCASE("fingerprints tell sets apart") { fingerprints_tell_sets_apart<W>(); }
  SUBCASE("N of M names the group") { n_of_m_names_the_group<W>(); }
  SUBCASE("N of M refuses on all ranks") { n_of_m_refuses_on_all_ranks<W>(); }
  SUBCASE("full refuses on all ranks") { full_refuses_on_all_ranks<W>(); }
  SUBCASE("indices are as wide as needed") { indices_are_as_wide_as_needed<W>(); }
  SUBCASE("bytes are as promised") { bytes_are_as_promised<W>(); }
  SUBCASE("pieces come in order") { pieces_come_in_order<W>(); }
}

}  // namespace pactrain::test::mask
