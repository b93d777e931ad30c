// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/agreement.hpp>
#include <pactrain/algorithm/identity.hpp>
#include <pactrain/algorithm/method.hpp>
#include <pactrain/algorithm/whole_call.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/backend.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/options.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/slices.hpp>
#include <pactrain/core/value_type.hpp>

#include <cstddef>
#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pactrain {

/// Replaces gradients by their mean (or sum) over all ranks, made by a method that wants the whole
/// model at once: `LowRankAllReduce`, `SketchAllReduce`. The call, the checks, the transaction and
/// the `Report` are those of `SparseAllReduce`; but a call waits, and takes all of the model.
///
/// Collective: every rank makes the same calls in the same order. A call completes or throws; if it
/// throws, gradient, state and step are as they were. Ranks compare sizes, shapes, types, options
/// and step before the first value moves; a difference is the same `RankMismatch` on all. The first
/// call fixes layout, shapes and value type. The backend must outlive the reducer; one thread at a
/// time may use it.
template <class M, class B>
class MethodAllReduce {
  static_assert(Backend<B>,
                "pactrain: Backend needs an executor and a communicator that reaches the "
                "executor's memory (concept Backend)");
  static_assert(
      Method<M, typename B::executor_type>,
      "pactrain: Method needs fingerprint(), and on<Executor> with bind, dense, exchange, "
      "deliver, commit, save and load (concept Method)");

 public:
  using executor_type = typename B::executor_type;
  using communicator_type = typename B::communicator_type;

  /// Throws `PreconditionError` for options that cannot work.
  explicit MethodAllReduce(B& backend, M method = {}, ReduceOptions options = {})
      : backend_(&backend), method_options_(method), options_(options), method_(method) {}
  MethodAllReduce(const MethodAllReduce&) = delete;
  MethodAllReduce& operator=(const MethodAllReduce&) = delete;

  /// Reduces `gradient`: a vector, a span, a list of slices, or whatever `as_span` accepts; all of
  /// the model. Waits. `Contribution::nothing` adds zeros in place of the gradient, which still
  /// becomes the result.
  template <Sliceable X>
  Report operator()(X&& gradient, Contribution contribution = Contribution::gradient) {
    using T = slice_value_t<X>;
    static_assert(GradientValue<T>,
                  "pactrain: a gradient is written to: pass values of type float, double, float16 "
                  "or bfloat16 that are not const");
    try {
      const Report report = reduce<T>(gradient, contribution);
      stands_ = true;
      ++step_;
      return report;
    } catch (...) {
      if (!stands_) forget();
      throw;
    }
  }

  /// The method's state, and what it tells of the last call.
  [[nodiscard]] auto& method() noexcept { return method_; }
  /// What it runs on.
  [[nodiscard]] B& backend() const noexcept { return *backend_; }
  /// The number of the step that the next call is.
  [[nodiscard]] Step step() const noexcept { return step_; }

  /// Writes layout, step and the method's state. Not collective: a state is a rank's own. Throws
  /// `StateError` if the stream fails.
  void save(std::ostream& out) {
    Writer writer(out);
    identity().save(writer);
    writer.value(step_);
    writer.value(stands_ ? 1 + static_cast<int>(*type_) : 0);
    if (stands_) {
      writer.value(model_.parts().size());
      for (const Part& part : model_.parts()) {
        writer.value(part.name);
        writer.value(part.size);
        writer.value(part.rows);
      }
      method_.save(backend_->executor(), writer);
    }
    writer.finish();
  }
  /// Reads what `save` wrote, of a reducer with the same options and the same number of ranks; the
  /// next call goes on bit for bit as the saved one would have. Throws `StateError`, and then this
  /// reducer is as it was.
  void load(std::istream& in) {
    Reader reader(in);
    identity().expect(reader);
    const Step step = reader.value();
    const std::uint64_t type = reader.value();
    if (type > 4) throw StateError("pactrain: the state is damaged (its value type is unknown)");
    MethodOn method(method_options_);
    Model model;
    if (type != 0) {
      model = read_model(reader);
      with_gradient_type(static_cast<ValueType>(type - 1), [&]<class T>() {
        method.template bind<arithmetic_t<T>>(backend_->executor(), model);
      });
      method.load(backend_->executor(), reader);
    }
    reader.finish();
    forget();
    method_ = std::move(method);
    step_ = step;
    stands_ = type != 0;
    if (!stands_) return;
    model_ = std::move(model);
    type_ = static_cast<ValueType>(type - 1);
  }

 private:
  template <class, GradientValue>
  friend class WholeCall;
  using MethodOn = typename M::template on<executor_type>;

  template <class T, class X>
  Report reduce(X&& gradient, Contribution contribution) {
    std::string trouble;
    if (type_ && *type_ != value_type<T>) {
      trouble = std::string("the gradient is of type ") + name_of(value_type<T>) +
                " but was of type " + name_of(*type_) +
                " at first; pass the same type, or make a new reducer";
      if (call_) return call_->run_troubled(trouble);
    }
    auto* call = dynamic_cast<WholeCall<MethodAllReduce, T>*>(call_.get());
    if (call == nullptr) {
      auto made = std::make_unique<WholeCall<MethodAllReduce, T>>(*this);
      call = made.get();
      call_ = std::move(made);
    }
    return with_slices(gradient,
                       [&](auto slices) { return call->run(slices, contribution, trouble); });
  }
  [[nodiscard]] ReducerIdentity identity() const {
    return ReducerIdentity::of_method(backend_->communicator().size(), method_options_, options_);
  }
  /// What all ranks must have alike.
  template <class T>
  [[nodiscard]] std::vector<Statement> statements() const {
    std::vector<Statement> all{{"size", model_.size(), true},
                               {"parts", model_.fingerprint(), false},
                               {"shapes", model_.shapes(), false},
                               {"value type", static_cast<std::uint64_t>(value_type<T>), false}};
    identity().state(all);
    all.push_back({"step", step_, true});
    return all;
  }
  template <class T>
  void introduce_slices(std::span<const Slice<T>> slices) {
    if (!model_.parts().empty()) return;
    Model model;
    for (const auto& slice : slices) model.add(slice.name, slice.values.size(), slice.rows);
    model_ = std::move(model);
  }
  /// All ranks have said the same.
  template <class T>
  void agreed() {
    if (!stands_) {
      method_.template bind<arithmetic_t<T>>(backend_->executor(), model_);
      type_ = value_type<T>;
    }
    agreed_ = true;
  }
  /// No call was ever accepted: nothing is fixed.
  void forget() {
    model_ = {};
    type_.reset();
    agreed_ = stands_ = false;
    call_.reset();
  }
  Model read_model(Reader& reader) const {
    Model model;
    const std::uint64_t parts = reader.value();
    for (std::uint64_t i = 0; i < parts; ++i) {
      std::string name = reader.text(1u << 16);
      const std::uint64_t size = reader.value(), rows = reader.value();
      if (model.part_named(name) != model.parts().size() || (rows > 1 && size % rows != 0)) {
        throw StateError("pactrain: the state is damaged (its parameter '" + name + "' cannot be)");
      }
      model.add(std::move(name), size, rows);
    }
    if (!model_.parts().empty() &&
        (model.fingerprint() != model_.fingerprint() || model.shapes() != model_.shapes())) {
      throw StateError(
          "pactrain: the state is of another model (its parameters have other names, sizes or "
          "rows); load the state of this one");
    }
    return model;
  }

  B* backend_;
  M method_options_;
  ReduceOptions options_;
  MethodOn method_;
  Model model_;
  std::optional<ValueType> type_;
  Step step_ = 0;
  bool agreed_ = false, stands_ = false;
  std::unique_ptr<WholeCallBase> call_;
};

}  // namespace pactrain
