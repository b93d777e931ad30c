# SPDX-FileCopyrightText: 2026 The pactrain authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the scripts share: the Debian packages that each purpose needs, and how they are installed.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$(nproc)}

build_packages=(g++ cmake ninja-build openmpi-bin libopenmpi-dev)
demo_packages=("${build_packages[@]}" libeigen3-dev libcli11-dev nlohmann-json3-dev zlib1g-dev
               dataset-fashion-mnist gnuplot-nox)
lab_packages=(iproute2 util-linux hostname python3 bible-kjv)
check_packages=(clang-format-19 shellcheck)
clang_packages=(clang-19 libclang-rt-19-dev libomp-19-dev)
test_packages=("${demo_packages[@]}" "${check_packages[@]}" "${clang_packages[@]}" "${lab_packages[@]}"
               doctest-dev librapidcheck-dev libbenchmark-dev libtrilinos-kokkos-dev pkg-config)

as_root() {
  if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

# install_missing PACKAGE...: installs those that are not there, and nothing where all are.
install_missing() {
  if ! command -v apt-get dpkg-query > /dev/null; then
    echo "This is neither Debian nor Ubuntu. What is needed, by Debian's names: $*" >&2
    return
  fi
  local package missing=()
  for package in "$@"; do
    if [[ $(dpkg-query -W -f '${Status}\n' "$package" 2> /dev/null) != *"ok installed"* ]]; then
      missing+=("$package")
    fi
  done
  if ((${#missing[@]} == 0)); then return; fi
  echo "Installing ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o DPkg::Lock::Timeout=300 "${missing[@]}"
}

# build_programs TARGET...: of the demo's and the lab's, optimised.
build_programs() {
  cmake -S "$root" -B "$root/build/demo" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DPACTRAIN_BUILD_TESTS=OFF -DPACTRAIN_BUILD_BENCHMARKS=OFF
  cmake --build "$root/build/demo" --target "$@"
}
