// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/backend.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pactrain {

/// HOW the kept positions of a model are stored. A mask is a descriptor; its `on<E>` is the storage
/// in an executor's memory. It sees positions 0 ... n - 1 of the whole model, and never a value.
/// A kept position's *slot* is the number of kept positions before it.
///
/// - `begin(exec, model)`: starts an assignment, nothing kept; then, pieces in order of position,
///   none twice, `assign(exec, piece, keep)`: the positions of a piece become kept as `keep(0 ...)`
///   says, which is asked any number of times; then `end(exec)`, which counts. `assign` and `end`
///   may wait; `end` may throw `PreconditionError` where the representation cannot hold the set
///   (`NofMMask`, `FullMask`); the mask is then to be begun anew.
/// - `visit(exec, first, last, f)`: f(slot, position) for the kept positions of [first, last), in
///   any order; slots ascend with positions.
/// - `keep()`: the set as a predicate on positions, for kernels; it may also have `word(index)`,
///   64 positions at once, which makes the algorithms on sets fast.
/// - `slot(exec, position)`: kept positions below `position` (waits). `count()`: all of them.
/// - `clear(exec, first, values)`: `values`, which stand at `first` ..., become +0.0 where not
/// kept.
/// - `fingerprint(exec, first, last)`: a hash of the kept positions of [first, last) (waits), the
///   same for every representation of the set, every executor and every cut into parts.
/// - `unite(exec, comm)`: the union over ranks; `broadcast(exec, comm, root)`: what `root` has.
///   Both are collective, wait, and may stand in place of `end`, so that what `end` would throw on
///   one rank is thrown on all. A rank may have assigned nothing after `begin`.
/// - optionally `positions()`, the set as bytes in executor memory, and `receive(exec, model,
///   positions)`, which becomes the set that another rank's bytes say (waits, for it trusts none of
///   them: `BackendError`): then positions can travel with values (`Gathered`).
/// - `bytes()`: memory held. `save(exec, writer)`, `load(exec, model, reader)`: `load` throws
///   `StateError`; the mask is then to be begun anew.
template <class M, class B>
concept MaskRepresentation =
    Backend<B> && requires(typename M::template on<typename B::executor_type>& mask,
                           const typename M::template on<typename B::executor_type>& view,
                           typename B::executor_type& exec, typename B::communicator_type& comm,
                           const Model& model, Piece<const float> piece, std::size_t n,
                           std::span<float> values, Writer& writer, Reader& reader) {
      mask.begin(exec, model);
      mask.assign(exec, piece, archetype::Keep{});
      mask.end(exec);
      view.visit(exec, n, n, archetype::Slot{});
      { view.keep()(n) } -> std::same_as<bool>;
      { view.slot(exec, n) } -> std::same_as<std::size_t>;
      { view.count() } -> std::same_as<std::size_t>;
      view.clear(exec, n, values);
      { view.fingerprint(exec, n, n) } -> std::same_as<std::uint64_t>;
      mask.unite(exec, comm);
      mask.broadcast(exec, comm, 0);
      { view.bytes() } -> std::same_as<std::size_t>;
      view.save(exec, writer);
      mask.load(exec, model, reader);
    };

/// Can the positions travel with values?
template <class M, class E>
concept TravellingMask =
    requires(typename M::template on<E>& mask, const typename M::template on<E>& view, E& exec,
             const Model& model, std::span<const std::byte> positions) {
      { view.positions() } -> std::same_as<std::span<const std::byte>>;
      mask.receive(exec, model, positions);
    };

/// Throws `BackendError` unless what another rank sent as its positions can be right.
inline void expects_positions(bool right) {
  if (right) return;
  throw BackendError(
      "pactrain: the positions that another rank sent are damaged (they do not fit the model); "
      "check that all ranks run the same build, and the network");
}

}  // namespace pactrain
