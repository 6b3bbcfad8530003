#!/bin/sh
# Every stage on the same input agrees across rank counts, on the CPU or on GPUs, with one rank on the
# CPU.  Usage: test_run.sh MTIP TEST_RUN PDB cpu|cuda
set -e
mtip=$1 test_run=$2 pdb=$3 device=$4
. "$(dirname "$0")/../jobs/mpi.sh"
if [ "$device" = cuda ] && ! "$mtip" info 2>/dev/null | grep -q GPU-; then
  [ -z "$MTIP_REQUIRE_GPU" ] || exit 1
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/c.yaml" <<EOF
molecule: {file: $pdb, b_factor: 20}
detector: {pixels: 16, pixel_size: 2, distance: 53.7, beam_stop: 2}
simulate: {images: 150, photons_per_image: 2e3, output: $work/d.h5}
EOF
"$mtip" -q simulate "$work/c.yaml"
failed=0
for precision in single double; do
  mpi 1 "$test_run" "$work/d.h5" $precision "$work/$precision" cpu
  for ranks in 1 2 3 4; do
    echo "$precision precision, $ranks ranks, $device"
    mpi "$ranks" "$test_run" "$work/d.h5" $precision "$work/$precision" "$device" || failed=1
  done
done
exit $failed
