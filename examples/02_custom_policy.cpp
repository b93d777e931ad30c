// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A policy of your own: which entries are kept. This one keeps every n-th entry of each parameter,
// another n-th in each step, so that all are heard in turn; error feedback keeps what waits.
#include <pactrain/pactrain.hpp>

#include <cstdio>
#include <vector>

using namespace pactrain;

struct RoundRobin {
  static constexpr Support support = Support::shared;   // all ranks answer alike
  static constexpr Unkept unkept = Unkept::remembered;  // the others wait in the residual
  std::size_t n = 4;
  [[nodiscard]] std::uint64_t fingerprint() const { return n; }

  struct Keep {  // a predicate on the index in a piece; kernels copy it
    std::size_t begin, n, turn;
    PACTRAIN_FN bool operator()(std::size_t i) const { return (begin + i) % n == turn; }
  };

  template <Executor E>
  class on {
   public:
    explicit on(const RoundRobin& options) : n_(options.n) {}
    [[nodiscard]] std::uint64_t revision(Step step) const { return step % n_; }
    template <class T>
    void prepare(E&, const Model&, std::span<const Piece<T>>, Step step) {
      turn_ = step % n_;
    }
    template <class T>
    [[nodiscard]] Keep keep(const Piece<T>& piece) const {
      return {piece.at, n_, turn_};
    }

   private:
    std::size_t n_, turn_ = 0;
  };
};

int main() {
  on_threads(2, [](HostBackend& backend) {
    SparseAllReduce<RoundRobin, BitMask, HostBackend, Identity, ErrorFeedback> reduce{backend};
    double conveyed = 0;
    for (int step = 0; step < 8; ++step) {
      std::vector<double> gradient(100, 1.0);
      reduce(gradient);
      for (const double x : gradient) conveyed += x;
    }
    // Entries of turn t have waited for 3 - t steps at the end: 100 entries, 8 steps, 150 waiting.
    if (backend.communicator().rank() == 0) std::printf("conveyed %g of 800\n", conveyed);
    if (conveyed != 650.0) throw Error("650 should have been conveyed");
  });
}
