#!/bin/sh
# Installs what is missing (Debian, Ubuntu), builds with warnings as errors and runs every test.
# Ends with ctest's closing lines and its exit code.  Usage: sh tests/run.sh [CTEST_OPTIONS]...
set -e
cd "$(dirname "$0")/.."
sh jobs/install.sh libcmocka-dev
. jobs/gpu.sh
# shellcheck disable=SC2046
cmake -S . -B build-dev -DCMAKE_BUILD_TYPE=RelWithDebInfo -DMTIP_WERROR=ON $(gpu_options)
cmake --build build-dev --parallel "$(nproc)"
cd build-dev
exec ctest --output-on-failure --no-tests=error --parallel "$(nproc)" "$@"
