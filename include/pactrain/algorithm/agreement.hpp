// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pactrain {

/// One field that all ranks must have alike. `value` is shown in messages where it is a number a
/// user knows; hashes are not.
struct Statement {
  std::string_view field;
  std::uint64_t value;
  bool shown;
};

/// The host values of all ranks, in rank order, gathered through executor memory. Collective;
/// waits. Meant for rare exchanges of a few values: it allocates.
template <class T, Executor E, class C>
std::vector<T> gather_host_values(E& exec, C& comm, std::span<const T> mine) {
  const std::size_t all_size = mine.size() * static_cast<std::size_t>(comm.size());
  auto sent = exec.template make_buffer<T>(mine.size());
  auto received = exec.template make_buffer<T>(all_size);
  exec.write(mine, std::span<T>(sent.data(), mine.size()));
  all_gather(exec, comm, std::span<const T>(sent.data(), mine.size()),
             std::span<T>(received.data(), all_size));
  std::vector<T> all(all_size);
  exec.read(std::span<const T>(received.data(), all_size), std::span<T>(all));
  return all;
}

/// The text of the lowest rank that has one, on all ranks, with the rank's name before it; empty
/// where none has. `sizes` are those of all ranks' texts. Collective where one has; waits.
template <Executor E, class C>
std::string share_trouble(E& exec, C& comm, std::span<const std::uint64_t> sizes,
                          const std::string& mine) {
  const auto troubled = std::find_if(sizes.begin(), sizes.end(), [](auto n) { return n > 0; });
  if (troubled == sizes.end()) return {};
  const int root = static_cast<int>(troubled - sizes.begin());
  constexpr std::size_t longest = std::size_t{1} << 20;
  if (*troubled > longest) {
    throw BackendError("pactrain: what rank " + std::to_string(root) +
                       " sent as its refusal is damaged (no text is so long); check that all ranks "
                       "run the same build, and the network");
  }
  std::string text = mine;
  text.resize(*troubled);
  auto buffer = exec.template make_buffer<char>(text.size());
  const std::span<char> moved(buffer.data(), text.size());
  exec.write(std::span<const char>(text), moved);
  broadcast(exec, comm, moved, root);
  exec.read(as_const_span(moved), std::span<char>(text));
  return "rank " + std::to_string(root) + ": " + text;
}

/// The same for ranks that do not know the sizes. Collective; waits.
template <Executor E, class C>
std::string gather_trouble(E& exec, C& comm, const std::string& mine) {
  const std::uint64_t size = mine.size();
  const auto sizes = gather_host_values(exec, comm, std::span<const std::uint64_t>(&size, 1));
  return share_trouble(exec, comm, std::span<const std::uint64_t>(sizes), mine);
}

/// The rank whose value is not that of most ranks (of rank 0 where there is a tie), and one that
/// has it; -1 where all are alike.
struct Odd {
  int rank = -1, other = 0;
};
inline Odd odd_one_out(std::span<const std::uint64_t> values) {
  const auto votes = [&](std::uint64_t value) {
    return std::count(values.begin(), values.end(), value);
  };
  std::size_t usual = 0;
  for (std::size_t rank = 1; rank < values.size(); ++rank) {
    if (votes(values[rank]) > votes(values[usual])) usual = rank;
  }
  for (std::size_t rank = 0; rank < values.size(); ++rank) {
    if (values[rank] != values[usual]) {
      return {static_cast<int>(rank), static_cast<int>(usual)};
    }
  }
  return {};
}

/// The lowest position of a model of `size` entries at which ranks' masks differ. Collective;
/// waits; precondition: they do differ.
template <Executor E, class C, class MaskOn>
std::size_t first_difference(E& exec, C& comm, const MaskOn& mask, std::size_t size) {
  std::size_t first = 0, last = size;
  while (last - first > 1) {
    const std::size_t middle = first + (last - first) / 2;
    const std::uint64_t mine = mask.fingerprint(exec, first, middle);
    const auto all = gather_host_values(exec, comm, std::span<const std::uint64_t>(&mine, 1));
    const bool alike = std::all_of(all.begin(), all.end(), [&](auto x) { return x == all[0]; });
    (alike ? first : last) = middle;
  }
  return first;
}

/// Throws the same error on every rank unless all ranks state the same: `PreconditionError` with
/// the text of a rank that has `trouble`, or `RankMismatch` naming a rank that differs and the
/// first field in which it does; `locate(field, stated)` may add where (it is called on all ranks;
/// `stated(f)` tells whether every rank has a value but zero in field f). All ranks have the same
/// fields. One small collective where all is well; waits.
template <Executor E, class C, class Locate>
void agree(E& exec, C& comm, std::span<const Statement> mine, const std::string& trouble,
           Locate locate) {
  std::vector<std::uint64_t> row{trouble.size()};
  for (const Statement& statement : mine) row.push_back(statement.value);
  const auto all = gather_host_values(exec, comm, std::span<const std::uint64_t>(row));
  std::vector<std::uint64_t> column(static_cast<std::size_t>(comm.size()));
  const auto read = [&](std::size_t place) {
    for (std::size_t rank = 0; rank < column.size(); ++rank) {
      column[rank] = all[rank * row.size() + place];
    }
  };
  read(0);
  const std::string text =
      share_trouble(exec, comm, std::span<const std::uint64_t>(column), trouble);
  if (!text.empty()) throw PreconditionError("pactrain: " + text);

  const auto stated = [&](std::string_view field) {
    const auto place = std::ranges::find(mine, field, &Statement::field) - mine.begin() + 1;
    for (std::size_t at = static_cast<std::size_t>(place); at < all.size(); at += row.size()) {
      if (all[at] == 0) return false;
    }
    return true;
  };
  for (std::size_t i = 0; i < mine.size(); ++i) {
    read(i + 1);
    const Odd odd = odd_one_out(column);
    if (odd.rank < 0) continue;
    const std::string field(mine[i].field);
    const auto said = [&](int rank) {
      const std::string value = std::to_string(column[static_cast<std::size_t>(rank)]);
      return "rank " + std::to_string(rank) + (mine[i].shown ? " has " + value : "");
    };
    throw RankMismatch("pactrain: ranks differ in " + field + ": " + said(odd.rank) +
                           (mine[i].shown ? ", " : " is not as ") + said(odd.other) +
                           locate(mine[i].field, stated) +
                           " (no value was moved); give all ranks the same " + field,
                       odd.rank, field);
  }
}

}  // namespace pactrain
