#!/bin/sh
# A fault of the GPU of one rank ends all ranks with exit code 5 and one message that names the rank,
# the GPU, the host and the stage.  Usage: test_gpu_fault.sh MTIP INJECT_CUDA_SO PDB
set -e
mtip=$1 inject=$2 pdb=$3
. "$(dirname "$0")/../jobs/mpi.sh"
if ! "$mtip" info 2>/dev/null | grep -q GPU-; then
  [ -z "$MTIP_REQUIRE_GPU" ] || exit 1
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/c.yaml" <<EOF
molecule: {file: $pdb, b_factor: 20}
detector: {pixels: 16, pixel_size: 2, distance: 53.7, beam_stop: 2}
simulate: {images: 150, photons_per_image: 2e3, output: $work/d.h5}
data: {file: $work/d.h5}
grid: {size: 21, diameter: 40}
run: {directory: $work/run, generations: 3, final_generations: 1}
slice: {references: 500, final_references: 500}
parallel: {backend: cuda}
EOF
"$mtip" -q simulate "$work/c.yaml"
failed=0
stages='setup|slice|match|merge|solve|phase|exchange|compare'
for rank in 0 1; do
  for at in 20 60 200; do
    status=0
    MTIP_FAULT_RANK=$rank MTIP_FAULT_AT=$at LD_PRELOAD=$inject mpi 2 timeout 60 \
      "$mtip" -q reconstruct "$work/c.yaml" >"$work/out" 2>&1 || status=$?
    echo "rank $rank, wait $at: exit status $status"
    if [ $status -ne 5 ] || ! grep -q "node fault: $(uname -n)$" "$work/out" ||
      ! grep -E "^mtip: rank $rank \(GPU-[-0-9a-f]+ on [^,]+, ($stages)\): " "$work/out"; then
      failed=1
      cat "$work/out"
    fi
    rm -rf "$work/run"
  done
done
exit $failed
