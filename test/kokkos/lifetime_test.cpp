// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <pactrain/core/error.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/kokkos/backend.hpp>

#include <Kokkos_Core.hpp>
#include <doctest/doctest.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

using namespace pactrain;

using Space = PACTRAIN_TEST_SPACE;
using OnKokkos = KokkosBackend<Space, ThreadCommunicator>;

namespace {

struct One {
  PACTRAIN_FN std::size_t operator()(std::size_t) const { return 1; }
};

template <class F>
void check_refused(F f) {
  std::string text = "nothing was thrown";
  try {
    f();
  } catch (const PreconditionError& error) {
    text = error.what();
  }
  CAPTURE(text);
  CHECK(text.find("after Kokkos::initialize and before Kokkos::finalize") != std::string::npos);
}

}  // namespace

TEST_CASE("a backend lives while Kokkos runs, and neither starts nor ends it") {
  check_refused([] { const KokkosExecutor<Space> exec; });
  check_refused([] { const OnKokkos backend; });
  CHECK(!Kokkos::is_initialized());

  Kokkos::initialize();
  std::optional<KokkosExecutor<Space>> kept;
  {
    OnKokkos backend;
    kept.emplace();
    auto buffer = backend.executor().make_buffer<std::size_t>(10);
    backend.executor().for_each(10, kernel::Fill<std::size_t>{buffer.data(), 1});
    backend.executor().fence();
  }
  CHECK(Kokkos::is_initialized());
  Kokkos::finalize();

  std::vector<std::size_t> x(10);
  const std::span<const std::size_t> from(x);
  const std::span<std::size_t> to(x);
  const std::span<std::size_t, 1> out(x.data(), 1);
  check_refused([] { const OnKokkos backend; });
  check_refused([&] { (void)kept->make_buffer<float>(1); });
  check_refused([&] { kept->for_each(1, kernel::Fill<std::size_t>{x.data(), 1}); });
  check_refused([&] { kept->reduce(1, std::size_t{0}, One{}, kernel::Add{}, out); });
  check_refused([&] { kept->scan(1, One{}, to, out); });
  check_refused([&] { kept->copy(from, to); });
  check_refused([&] { kept->read(from, to); });
  check_refused([&] { kept->write(from, to); });
  check_refused([&] { kept->fence(); });
}
