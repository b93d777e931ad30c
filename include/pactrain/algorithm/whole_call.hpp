// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/agreement.hpp>
#include <pactrain/algorithm/exchange.hpp>
#include <pactrain/algorithm/method.hpp>
#include <pactrain/algorithm/pack.hpp>
#include <pactrain/algorithm/refusal.hpp>
#include <pactrain/algorithm/resolve.hpp>
#include <pactrain/compress/identity.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/options.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/kernel/flags.hpp>
#include <pactrain/kernel/pack.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pactrain {

/// What a reducer does with its call, whatever the value type.
class WholeCallBase {
 public:
  virtual ~WholeCallBase() = default;
  /// Takes part in the other ranks' call with nothing but the news that this rank's is wrong.
  virtual Report run_troubled(const std::string& trouble) = 0;
};

/// One call of a reducer `R` that takes the whole model and waits: agreement where it is due, the
/// method's exchange or the dense one, judgement, delivery. It keeps its scratch memory.
template <class R, GradientValue T>
class WholeCall final : public WholeCallBase {
  using E = typename R::executor_type;
  using C = typename R::communicator_type;

 public:
  explicit WholeCall(R& reducer)
      : r_(reducer),
        exec_(reducer.backend_->executor()),
        comm_(reducer.backend_->communicator()),
        plain_(Identity{}, no_state_) {}

  Report run_troubled(const std::string& trouble) override {
    return run({}, Contribution::nothing, trouble);
  }
  Report run(std::span<const Slice<T>> slices, Contribution contribution,
             const std::string& trouble) {
    report_ = {};
    report_.step = r_.step_;
    trouble_ = trouble;
    nothing_ = contribution == Contribution::nothing;
    take(slices);
    agree_first();
    flags_span_ = flags_.template take<std::uint32_t>(exec_, 2);
    raise_flags();
    const bool dense = r_.method_.dense(r_.step_);
    if (dense) {
      report_.path = Path::dense;
      send_plain();
    } else {
      r_.method_.exchange(call());
    }
    judge(dense);
    deliver();
    if (report_.path == Path::packed) r_.method_.commit();
    return report_;
  }

 private:
  MethodCall<E, C, T> call() {
    return {exec_,    comm_,       r_.model_, std::span<const Piece<T>>(pieces_),
            nothing_, r_.options_, r_.step_,  flags_span_,
            report_};
  }
  /// The slices as pieces of the model; what is wrong with them all ranks are told later.
  void take(std::span<const Slice<T>> slices) {
    pieces_.clear();
    if (!trouble_.empty()) return;
    try {
      r_.introduce_slices(slices);
      resolve(r_.model_, slices, pieces_);
      expect_reachable(exec_, r_.model_, std::span<const Piece<T>>(pieces_));
      for (const auto& piece : pieces_) report_.entries += piece.size;
      expects(report_.entries == r_.model_.size(),
              "this reducer takes all of the model in one call");
    } catch (const PreconditionError& error) {
      trouble_ = without_prefix(error.what());
      pieces_.clear();
      report_.entries = 0;
    }
    report_.kept = report_.entries;
    report_.dense_bytes = all_reduce_bytes<T>(report_.entries, comm_.rank(), comm_.size());
  }
  void agree_first() {
    if (r_.agreed_) return;
    const StageTimer timer(exec_, "keep", report_.seconds.keep);
    const SentMeter<C> meter(comm_, report_.bytes_sent);
    const auto statements = r_.template statements<T>();
    agree(exec_, comm_, std::span<const Statement>(statements), trouble_,
          [](std::string_view) { return std::string(); });
    r_.template agreed<T>();
  }
  void raise_flags() {
    const StageTimer timer(exec_, "pack", report_.seconds.pack);
    std::uint32_t* const flag = flags_span_.data() + kernel::non_finite_flag;
    exec_.for_each(2, kernel::Fill<std::uint32_t>{flags_span_.data(), 0});
    if (!trouble_.empty()) exec_.for_each(1, kernel::Fill<std::uint32_t>{flag, 1});
    if (nothing_ || !looks()) return;
    for (const auto& piece : pieces_) {
      find_non_finite(exec_, piece.as_const().values(), flag, scratch_);
    }
  }

  /// All values as they are, by the pipeline's own exchange.
  void send_plain() {
    const std::size_t n = r_.model_.size();
    const auto values = packed_.template take<T>(exec_, n + 1).first(n);
    {
      const StageTimer timer(exec_, "pack", report_.seconds.pack);
      if (nothing_ || pieces_.empty()) exec_.for_each(n, kernel::Fill<T>{values.data(), T{}});
      for (std::size_t i = 0; !nothing_ && i < pieces_.size(); ++i) {
        exec_.copy(pieces_[i].as_const().values(),
                   values.subspan(pieces_[i].first, pieces_[i].size));
      }
    }
    const bool flagged = r_.options_.non_finite == NonFinite::propagate || n == 0;
    part_ = {0, 0, n};
    plain_.start(exec_, comm_, {std::span(&part_, 1), comm_.size(), {}, {}},
                 {r_.options_.reduction == Reduction::mean, looks(), flagged, false}, values,
                 flags_span_, report_);
    plain_.advance(exec_, comm_, [&](auto& request) {
      comm_.finish(request, usual_deadline(comm_));
      return true;
    });
  }
  /// What the united flags mean: go on, send the values as they are in this same call, or refuse.
  void judge(bool dense) {
    std::uint32_t flags[2];
    exec_.read(as_const_span(flags_span_), std::span<std::uint32_t>(flags));
    if (flags[kernel::non_finite_flag] == 0) return;
    if (r_.options_.non_finite == NonFinite::reject) {
      std::vector<Piece<const T>> source;
      for (const auto& piece : pieces_) {
        if (!nothing_) source.push_back(piece.as_const());
      }
      refuse(exec_, comm_, r_.model_, std::span<const Piece<const T>>(source), r_.step_, trouble_);
    }
    {
      const SentMeter<C> meter(comm_, report_.bytes_sent);
      refuse_trouble(exec_, comm_, trouble_);
    }
    report_.non_finite = looks();
    if (dense) return;
    exec_.for_each(2, kernel::Fill<std::uint32_t>{flags_span_.data(), 0});  // all ranks know them
    report_.path = Path::uncoded;
    report_.kept = report_.entries;
    send_plain();
  }
  void deliver() {
    const StageTimer timer(exec_, "unpack", report_.seconds.unpack);
    if (report_.path == Path::packed) {
      r_.method_.deliver(call());
    } else {
      for (const auto& piece : pieces_) {
        exec_.copy(as_const_span(plain_.values().subspan(piece.first, piece.size)), piece.values());
      }
    }
    exec_.fence();
  }
  [[nodiscard]] bool looks() const { return r_.options_.non_finite != NonFinite::ignore; }

  R& r_;
  E& exec_;
  C& comm_;
  codec_state<Identity, E> no_state_;
  Exchange<T, T, E, C, Identity> plain_;
  std::vector<Piece<T>> pieces_;
  Report report_;
  std::string trouble_;
  bool nothing_ = false;
  PackedPart part_;
  std::span<std::uint32_t> flags_span_;
  Scratch<E> flags_, packed_, scratch_;
};

}  // namespace pactrain
