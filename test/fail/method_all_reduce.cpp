// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// expect(wrong_method): Method needs fingerprint(), and on<Executor> with bind, dense, exchange
// expect(wrong_backend): Backend needs an executor and a communicator that reaches
// expect(const_gradient): a gradient is written to: pass values of type float, double, float16
#include <pactrain/host/backend.hpp>
#include <pactrain/low_rank_all_reduce.hpp>
#include <pactrain/mask/bit_mask.hpp>

#include <vector>

using namespace pactrain;

void use(HostBackend& backend) {
  LowRankAllReduce<HostBackend> reduce{backend};
  std::vector<float> gradient(3);
  reduce(gradient);
#ifdef wrong_method
  MethodAllReduce<BitMask, HostBackend> wrong{backend};
#endif
#ifdef wrong_backend
  LowRankAllReduce<HostExecutor>* wrong = nullptr;
  wrong->step();
#endif
#ifdef const_gradient
  const std::vector<float> fixed(3);
  reduce(fixed);
#endif
}
