// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// The core and the host backend: everything but the backends that need another library.

#include <pactrain/balanced.hpp>
#include <pactrain/broadcast.hpp>
#include <pactrain/compress/cast.hpp>
#include <pactrain/compress/identity.hpp>
#include <pactrain/compress/int8.hpp>
#include <pactrain/compress/ternary.hpp>
#include <pactrain/core/config.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/host_staged.hpp>
#include <pactrain/core/trace.hpp>
#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/feedback/feedback.hpp>
#include <pactrain/gathered.hpp>
#include <pactrain/gradient_buckets.hpp>
#include <pactrain/hashed.hpp>
#include <pactrain/host/backend.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/block_mask.hpp>
#include <pactrain/mask/bloom_mask.hpp>
#include <pactrain/mask/convert.hpp>
#include <pactrain/mask/full_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/mask/n_of_m_mask.hpp>
#include <pactrain/policy/block_magnitude.hpp>
#include <pactrain/policy/gradual_magnitude.hpp>
#include <pactrain/policy/keep_all.hpp>
#include <pactrain/policy/n_of_m.hpp>
#include <pactrain/policy/non_zero.hpp>
#include <pactrain/policy/one_shot_magnitude.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/random_pruning.hpp>
#include <pactrain/policy/threshold.hpp>
#include <pactrain/policy/top_k.hpp>
#include <pactrain/policy/track_zeros.hpp>
#include <pactrain/policy/united.hpp>
#include <pactrain/scattered.hpp>
#include <pactrain/sparse_all_reduce.hpp>
#include <pactrain/sparse_streams.hpp>
