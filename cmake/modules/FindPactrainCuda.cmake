# SPDX-FileCopyrightText: 2026 The pactrain authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# PactrainCuda::toolkit: the runtime and the headers of a CUDA toolkit (12 or later), with Thrust and
# CUB, which nvcc finds by itself and other compilers do not. Neither nvcc nor a GPU is needed.
find_package(CUDAToolkit 12 QUIET)
find_path(PactrainCuda_CCCL_INCLUDE_DIR thrust/version.h HINTS ${CUDAToolkit_INCLUDE_DIRS}
          PATH_SUFFIXES cccl NO_DEFAULT_PATH)
mark_as_advanced(PactrainCuda_CCCL_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PactrainCuda REQUIRED_VARS PactrainCuda_CCCL_INCLUDE_DIR
                                  VERSION_VAR CUDAToolkit_VERSION)
if(PactrainCuda_FOUND AND NOT TARGET PactrainCuda::toolkit)
  add_library(PactrainCuda::toolkit INTERFACE IMPORTED)
  target_link_libraries(PactrainCuda::toolkit INTERFACE CUDA::cudart)
  # For nvcc these are its own already, and to name them again would change their order.
  target_include_directories(
    PactrainCuda::toolkit SYSTEM
    INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${PactrainCuda_CCCL_INCLUDE_DIR}>)
endif()
