// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <concept/byte_mask.hpp>
#include <suite/mask_checks.hpp>
#include <suite/mask_sets.hpp>
#include <suite/values.hpp>
#include <suite/world.hpp>

#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/block_mask.hpp>
#include <pactrain/mask/convert.hpp>
#include <pactrain/mask/full_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/mask/mask.hpp>
#include <pactrain/mask/n_of_m_mask.hpp>

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

/// What every mask must do, for any backend: hold the set it was given, answer as the set itself
/// does, unite, travel, be saved and be turned into any other.
namespace pactrain::test::mask {

template <class F>
void for_masks(F f) {
  for_types<BitMask, IndexMask, BlockMask<1>, BlockMask<4>, BlockMask<7>, BlockMask<100>,
            BlockMask<700>, NofMMask<2, 4>, NofMMask<1, 4>, NofMMask<3, 10>, NofMMask<5, 64>,
            NofMMask<4, 4>, NofMMask<40, 64>, FullMask, example::ByteMask>(f);
}
template <class F>
void for_each_kind(F f) {
  for_types<BitMask, IndexMask, BlockMask<7>, NofMMask<2, 4>, NofMMask<1, 16>, FullMask>(f);
}

/// `body(backend)` on one rank.
template <World W, class Body>
void on_one(Body body) {
  W::run(W::ranks().front(), body, patience);
}

template <class Mask, class W>
using mask_of = typename Mask::template on<typename W::backend_type::executor_type>;

inline std::string save(auto& exec, const auto& mask) {
  std::ostringstream out;
  Writer writer(out);
  mask.save(exec, writer);
  writer.finish();
  return out.str();
}
inline void load(auto& exec, auto& mask, const Model& model, const std::string& bytes) {
  std::istringstream in(bytes);
  Reader reader(in);
  mask.load(exec, model, reader);
  reader.finish();
}

template <World W>
void it_holds_the_set() {
  on_one<W>([](auto& backend) {
    auto& exec = backend.executor();
    for_masks([&]<class Mask>() {
      mask_of<Mask, W> again;
      for (const auto& layout : layouts()) {
        const Model model = model_with(layout);
        for (const Density density : densities) {
          for (const std::uint64_t seed : {0u, 1u, 2u}) {
            CAPTURE(layout);
            CAPTURE(static_cast<int>(density));
            CAPTURE(seed);
            const Set set = Holds<Mask>::asked(model, random_set(model.size(), density, seed + 11));
            assign(exec, again, model, set, seed);
            again.end(exec);
            check_holds(exec, again, model, Holds<Mask>::held(model, set), seed);
          }
        }
      }
    });
  });
}

template <World W>
void it_holds_a_large_set() {
  on_one<W>([](auto& backend) {
    auto& exec = backend.executor();
    const Model model = model_with(std::vector<std::size_t>{300'001, 7, 699'992});
    for_masks([&]<class Mask>() {
      for (const Density density : {Density::none, Density::percent, Density::half}) {
        const Set set = Holds<Mask>::asked(model, random_set(model.size(), density, 5));
        const Set held = Holds<Mask>::held(model, set);
        mask_of<Mask, W> mask;
        assign(exec, mask, model, set, 3);
        mask.end(exec);
        check_range(exec, mask, held, 0, held.size());
        check_range(exec, mask, held, 70'001, 300'009);
        const std::size_t bytes = mask.bytes();
        assign(exec, mask, model, set, 3);
        mask.end(exec);
        CHECK(mask.bytes() == bytes);
      }
    });
  });
}

/// The set that a rank contributes to a union.
template <class Mask>
Set contribution(const Model& model, Density density, int rank) {
  const std::uint64_t seed = Holds<Mask>::any_union ? 20 + static_cast<std::uint64_t>(rank) : 20;
  return Holds<Mask>::asked(model, random_set(model.size(), density, seed));
}

template <World W>
void unions_keep_what_any_rank_keeps() {
  on_each<W>([](auto& backend) {
    auto& exec = backend.executor();
    auto& comm = backend.communicator();
    for_masks([&]<class Mask>() {
      mask_of<Mask, W> mask;
      for (const auto& layout : layouts()) {
        const Model model = model_with(layout);
        for (const Density density :
             {Density::none, Density::one, Density::percent, Density::half}) {
          for (const int absent : {-1, 1}) {  // a rank that assigns nothing
            for (const bool ended : {false, true}) {
              CAPTURE(layout);
              CAPTURE(comm.rank());
              CAPTURE(static_cast<int>(density));
              Set all(model.size());
              for (int rank = 0; rank < comm.size(); ++rank) {
                if (rank == absent) continue;
                all =
                    united(all, Holds<Mask>::held(model, contribution<Mask>(model, density, rank)));
              }
              if (comm.rank() == absent) mask.begin(exec, model);
              else assign(exec, mask, model, contribution<Mask>(model, density, comm.rank()), 2);
              if (ended) mask.end(exec);
              mask.unite(exec, comm);
              check_holds(exec, mask, model, all);
            }
          }
        }
      }
    });
  });
}

template <World W>
void broadcasts_bring_the_root_s_set() {
  on_each<W>([](auto& backend) {
    auto& exec = backend.executor();
    auto& comm = backend.communicator();
    for_masks([&]<class Mask>() {
      mask_of<Mask, W> mask;
      for (const auto& layout : layouts()) {
        const Model model = model_with(layout);
        for (int root = 0; root < comm.size(); ++root) {
          CAPTURE(layout);
          CAPTURE(root);
          const Density density = densities[static_cast<std::size_t>(root) + 1];
          const Set set = contribution<Mask>(model, density, root);
          if (comm.rank() == root) assign(exec, mask, model, set, 1);
          else mask.begin(exec, model);
          if (root % 2 == 0) mask.end(exec);
          mask.broadcast(exec, comm, root);
          check_holds(exec, mask, model, Holds<Mask>::held(model, set));
        }
      }
    });
  });
}

template <World W>
void states_come_back_or_are_refused() {
  on_one<W>([](auto& backend) {
    auto& exec = backend.executor();
    for_masks([&]<class Mask>() {
      for (const auto& layout : layouts()) {
        const Model model = model_with(layout);
        for (const Density density : densities) {
          const Set set = Holds<Mask>::asked(model, random_set(model.size(), density, 9));
          mask_of<Mask, W> mask, loaded;
          assign(exec, mask, model, set);
          mask.end(exec);
          const std::string bytes = save(exec, mask);
          load(exec, loaded, model, bytes);
          check_holds(exec, loaded, model, Holds<Mask>::held(model, set));
          CHECK(save(exec, loaded) == bytes);

          if (model.size() != 65 && model.size() != 654) continue;
          for (std::size_t length = 0; length < bytes.size(); ++length) {
            CHECK_THROWS_AS(load(exec, loaded, model, bytes.substr(0, length)), StateError);
          }
          for (std::size_t i = 0; i < bytes.size(); ++i) {
            for (const int flip : {1, 0x80}) {
              std::string damaged = bytes;
              damaged[i] = static_cast<char>(damaged[i] ^ flip);
              CHECK_THROWS_AS(load(exec, loaded, model, damaged), StateError);
            }
          }
          for (const std::size_t more : {std::size_t{1}, std::size_t{64}}) {
            Model other = model;
            other.add("more", more);
            CHECK_THROWS_AS(load(exec, loaded, other, bytes), StateError);
          }
          load(exec, loaded, model, bytes);
          check_holds(exec, loaded, model, Holds<Mask>::held(model, set));
        }
      }
    });
  });
}

/// From every representation to every other; what the other cannot hold, it says.
template <World W>
void every_mask_becomes_every_other() {
  on_one<W>([](auto& backend) {
    auto& exec = backend.executor();
    const Model model = model_with(std::vector<std::size_t>{10, 0, 53, 1, 70, 101, 7});
    for_each_kind([&]<class From>() {
      for_each_kind([&]<class To>() {
        for (const Density density : {Density::none, Density::half, Density::all}) {
          const Set set = Holds<From>::asked(model, random_set(model.size(), density, 31));
          const Set held = Holds<From>::held(model, set);
          mask_of<From, W> from;
          mask_of<To, W> to;
          assign(exec, from, model, set);
          from.end(exec);
          if (Holds<To>::legal(model, held)) {
            convert(exec, model, from, to);
            CHECK(to.fingerprint(exec, 0, model.size()) ==
                  fingerprint(Holds<To>::held(model, held), 0, model.size()));
            check_visit(exec, to, Holds<To>::held(model, held), 0, model.size());
          } else {
            CHECK_THROWS_AS(convert(exec, model, from, to), PreconditionError);
          }
        }
      });
    });
  });
}

/// Any model, any set, any cut, any density.
template <World W>
void it_holds_any_set() {
  on_one<W>([](auto& backend) {
    auto& exec = backend.executor();
    CHECK(rc::check("a mask holds any set of any model", [&] {
      const auto layout =
          *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 300));
      const auto seed = *rc::gen::arbitrary<std::uint32_t>();
      const auto of_256 = *rc::gen::inRange<std::uint64_t>(0, 257);
      const Model model = model_with(layout);
      Set any(model.size());
      for (std::size_t p = 0; p < any.size(); ++p) any[p] = kernel::mix(seed, p) % 256 < of_256;
      for_masks([&]<class Mask>() {
        const Set set = Holds<Mask>::asked(model, any);
        const Set held = Holds<Mask>::held(model, set);
        mask_of<Mask, W> mask;
        assign(exec, mask, model, set, seed);
        mask.end(exec);
        const auto kept = static_cast<std::size_t>(std::count(held.begin(), held.end(), true));
        RC_ASSERT(mask.count() == kept);
        RC_ASSERT(mask.fingerprint(exec, 0, held.size()) == fingerprint(held, 0, held.size()));
        const std::size_t at = model.size() == 0 ? 0 : seed % model.size();
        check_range(exec, mask, held, at, held.size());
      });
    }));
  });
}

TEST_CASE_TEMPLATE_DEFINE("mask", W, mask_suite) {
  SUBCASE("it holds the set") { it_holds_the_set<W>(); }
  SUBCASE("it holds a large set") { it_holds_a_large_set<W>(); }
  SUBCASE("it holds any set") { it_holds_any_set<W>(); }
  SUBCASE("unions keep what any rank keeps") { unions_keep_what_any_rank_keeps<W>(); }
  SUBCASE("broadcasts bring the root's set") { broadcasts_bring_the_root_s_set<W>(); }
  SUBCASE("states come back or are refused") { states_come_back_or_are_refused<W>(); }
  SUBCASE("every mask becomes every other") { every_mask_becomes_every_other<W>(); }
}

}  // namespace pactrain::test::mask
