// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/kernel/matrix.hpp>

#include <cstddef>

namespace pactrain {

/// Has the executor a matrix product of its own? `exec.gemm(transposed, rows, cols, rank, matrix,
/// columns, out)`: `matrix` is row after row, `columns` and `out` have `rank` columns, each in one
/// piece; out = matrix * columns, or the transposed matrix * columns. Deterministic, or ranks'
/// results, though alike, are not the same bits in the next run.
template <class E, class A>
concept HasGemm = requires(E& exec, const A* in, A* out, std::size_t n) {
  exec.gemm(false, n, n, n, in, in, out);
};

/// out = matrix * columns (`rank` columns of as many entries as the matrix has columns). The same
/// bits for any executor without a product of its own: sums are made in double, in an order that
/// depends on the sizes alone.
template <Executor E, class A>
void times(E& exec, kernel::Matrix<A> matrix, const A* columns, std::size_t rank, A* out) {
  if constexpr (HasGemm<E, A>) {
    exec.gemm(false, matrix.rows, matrix.cols, rank, matrix.data, columns, out);
  } else {
    exec.for_each(matrix.rows, kernel::TimesColumns<A>{matrix, columns, rank, out});
  }
}

/// out = the transposed matrix * columns (`rank` columns of as many entries as it has rows).
template <Executor E, class A>
void transposed_times(E& exec, kernel::Matrix<A> matrix, const A* columns, std::size_t rank, A* out,
                      Scratch<E>& scratch) {
  if constexpr (HasGemm<E, A>) {
    exec.gemm(true, matrix.rows, matrix.cols, rank, matrix.data, columns, out);
  } else {
    using Tile = kernel::TransposedTile<A>;
    const std::size_t blocks = Tile::count(matrix.rows, Tile::height), n = rank * matrix.cols;
    const auto partial = scratch.template take<double>(exec, blocks * n);
    exec.for_each(blocks * Tile::count(matrix.cols, Tile::width),
                  Tile{matrix, columns, rank, partial.data()});
    exec.for_each(n, kernel::AddBlocks<A>{partial.data(), n, blocks, out});
  }
}

}  // namespace pactrain
