// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// expect(wrong_policy): Policy needs the constants support and unkept, fingerprint()
// expect(half_a_policy): (concept PruningPolicy)
// expect(wrong_mask): Mask needs on<Executor> with begin, assign, end, visit
// expect(wrong_codec): Codec needs the constant additive, fingerprint(), and on<Executor>
// expect(wrong_feedback): Feedback needs the constant active and fingerprint()
// expect(wrong_backend): Backend needs an executor and a communicator that reaches
// expect(momentum_of_balanced): MomentumFeedback clears the momentum of what a codec chose
// expect(const_gradient): a gradient is written to: pass values of type float, double, float16
// expect(const_slices): a gradient is written to: pass values of type float, double, float16
// expect(whole_numbers): Sliceable
// expect(out_of_reach): the communicator does not reach the executor's memory
// expect(no_communicator): or lacks an operation; wrap it in HostStaged<...>?
// expect(cast_to_float): Cast is to float16 or bfloat16
// expect(united_shared): constraints
#include <pactrain/balanced.hpp>
#include <pactrain/compress/cast.hpp>
#include <pactrain/feedback/momentum_feedback.hpp>
#include <pactrain/host/backend.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/policy/keep_all.hpp>
#include <pactrain/policy/top_k.hpp>
#include <pactrain/policy/united.hpp>
#include <pactrain/sparse_all_reduce.hpp>

#include <cstdint>
#include <vector>

using namespace pactrain;

using Right = SparseAllReduce<KeepAll, BitMask, HostBackend>;

/// Memory that a communicator among threads does not reach.
struct DeviceExecutor : HostExecutor {
  using memory_space = DeviceSpace;
};
static_assert(Executor<DeviceExecutor>);

void use(HostBackend& backend) {
  Right reduce{backend};
  std::vector<float> gradient(3);
  reduce(gradient);
#ifdef wrong_policy
  SparseAllReduce<BitMask, BitMask, HostBackend> wrong{backend};
#endif
#ifdef half_a_policy
  struct Half {
    static constexpr Support support = Support::shared;
    [[nodiscard]] std::uint64_t fingerprint() const { return 0; }
  };
  SparseAllReduce<Half, BitMask, HostBackend> wrong{backend};
#endif
#ifdef wrong_mask
  SparseAllReduce<KeepAll, KeepAll, HostBackend> wrong{backend};
#endif
#ifdef wrong_codec
  SparseAllReduce<KeepAll, BitMask, HostBackend, float16> wrong{backend};
#endif
#ifdef wrong_feedback
  SparseAllReduce<KeepAll, BitMask, HostBackend, Identity, bool> wrong{backend};
#endif
#ifdef wrong_backend
  SparseAllReduce<KeepAll, BitMask, HostExecutor>* wrong = nullptr;
  wrong->step();
#endif
#ifdef momentum_of_balanced
  SparseAllReduce<Balanced<TopK>, IndexMask, HostBackend, Identity, MomentumFeedback> wrong{
      backend};
#endif
#ifdef const_gradient
  const std::vector<float> fixed(3);
  reduce(fixed);
#endif
#ifdef const_slices
  const std::vector<Slice<const float>> fixed{{"a", gradient}};
  reduce(fixed);
#endif
#ifdef whole_numbers
  std::vector<int> integers(3);
  reduce(integers);
#endif
#ifdef out_of_reach
  BackendPair<DeviceExecutor, ThreadCommunicator> pair{DeviceExecutor{}, ThreadCommunicator{}};
#endif
#ifdef no_communicator
  BackendPair<HostExecutor, int> pair{HostExecutor{}, 0};
#endif
#ifdef cast_to_float
  SparseAllReduce<KeepAll, BitMask, HostBackend, Cast<float>> wrong{backend};
#endif
#ifdef united_shared
  SparseAllReduce<United<KeepAll>, BitMask, HostBackend> wrong{backend};
#endif
}
