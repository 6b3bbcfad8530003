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
# go RANKS DEVICE FILE MAPS_TOLERANCE: writes the file, or compares with it.
go() {
  echo "$precision precision, $1 ranks, $2, $3"
  mpi "$1" "$test_run" "$work/d.h5" $precision "$work/$precision.$3" "$2" "$strict" "$4" || failed=1
}
for precision in single double; do
  # In single precision the posterior amplifies the rounding of scores: on a CPU the maps are 1.1e-4 from
  # double precision. Stages one by one are held to 1e-5 by test_stage_pairs.
  case $precision in
  single) strict=1e-5 across=5e-4 ;;
  double) strict=1e-10 across=1e-10 ;;
  esac
  go 1 cpu cpu "$strict"
  [ "$device" = cpu ] || go 1 cuda cpu "$across"
  [ "$device" = cpu ] || go 1 cuda cuda "$strict"
  for ranks in 2 3 4; do
    go $ranks "$device" "$device" "$strict"
  done
done
exit $failed
