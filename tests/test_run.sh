#!/bin/sh
# Every stage on the same input agrees across rank counts. Usage: test_run.sh MTIP TEST_RUN PDB
set -e
mtip=$1 test_run=$2 pdb=$3
. "$(dirname "$0")/../jobs/mpi.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/c.yaml" <<EOF
molecule: {file: $pdb, b_factor: 20}
detector: {pixels: 16, pixel_size: 2, distance: 53.7, beam_stop: 2}
simulate: {images: 150, photons_per_image: 2e3, output: $work/d.h5}
EOF
"$mtip" -q simulate "$work/c.yaml"
for precision in single double; do
  for ranks in 1 2 3 4; do
    echo "$precision precision, $ranks ranks"
    mpi "$ranks" "$test_run" "$work/d.h5" $precision "$work/$precision"
  done
done
