# SPDX-FileCopyrightText: 2026 The pactrain authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Enables CUDA as a language where the toolkit was found and nvcc works: PACTRAIN_HAS_NVCC. Kernels
# are built for CMAKE_CUDA_ARCHITECTURES, for Ampere and Hopper unless it is set.
set(PACTRAIN_HAS_NVCC FALSE)
if(PACTRAIN_HAS_CUDA)
  include(CheckLanguage)
  if(NOT DEFINED ENV{CUDACXX} AND CUDAToolkit_NVCC_EXECUTABLE)
    set(ENV{CUDACXX} ${CUDAToolkit_NVCC_EXECUTABLE})  # which need not be in PATH
  endif()
  check_language(CUDA)
endif()
if(CMAKE_CUDA_COMPILER)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real)
  endif()
  enable_language(CUDA)
  set(PACTRAIN_HAS_NVCC TRUE)
  # CMake 3.25 and older do not know that nvcc knows C++20, and leave it away without a word.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
  endif()
  message(STATUS "pactrain: CUDA kernels are built for ${CMAKE_CUDA_ARCHITECTURES}")
endif()
