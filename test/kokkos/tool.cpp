// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tool that Kokkos loads (KOKKOS_TOOLS_LIBS): it writes down the names that it is told.
#include <cstdint>
#include <string>

namespace {
std::string log;

void begin_kernel(const char* name, std::uint64_t* id) {
  log += std::string("kernel ") + name + '\n';
  *id = 0;
}
}  // namespace

extern "C" {
void kokkosp_push_profile_region(const char* name) { log += std::string("begin ") + name + '\n'; }
void kokkosp_pop_profile_region() { log += "end\n"; }
void kokkosp_begin_parallel_for(const char* name, std::uint32_t, std::uint64_t* id) {
  begin_kernel(name, id);
}
void kokkosp_begin_parallel_reduce(const char* name, std::uint32_t, std::uint64_t* id) {
  begin_kernel(name, id);
}
void kokkosp_begin_parallel_scan(const char* name, std::uint32_t, std::uint64_t* id) {
  begin_kernel(name, id);
}
void kokkosp_begin_fence(const char* name, std::uint32_t, std::uint64_t* id) {
  log += std::string("fence ") + name + '\n';
  *id = 0;
}
const char* pactrain_tool_log() { return log.c_str(); }
}
