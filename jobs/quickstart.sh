#!/bin/sh
# From a fresh Debian or Ubuntu machine to a density map: installs what is missing, builds, simulates
# images of a protein in unknown orientations, reconstructs it with MPI, compares with the truth.
# The last line is the resolution, for example "FSC(0.5) 7.84 A".
# Usage: sh jobs/quickstart.sh   (RANKS=2 by default)
set -e
cd "$(dirname "$0")/.."
ranks=${RANKS:-2}
sh jobs/install.sh
. jobs/gpu.sh
# shellcheck disable=SC2046
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DMTIP_TESTS=OFF $(gpu_options)
cmake --build build --parallel "$(nproc)" --target mtip
. jobs/mpi.sh
mkdir -p quickstart
mpi "$ranks" build/bin/mtip simulate config/quickstart.yaml
mpi "$ranks" build/bin/mtip reconstruct config/quickstart.yaml
echo "results are in quickstart/run: density.mrc is the map, log.txt what happened"
result=$(build/bin/mtip evaluate quickstart/run)
report=$(build/bin/mtip report quickstart/run)
echo "$result" | sed '$d'
echo "all of it on one page, for a browser: $PWD/$report"
echo "$result" | tail -n 1
