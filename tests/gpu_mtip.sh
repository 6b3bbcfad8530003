#!/bin/sh
# The program on a machine with a GPU, from a build folder (made with -DMTIP_CUDA=ON): suites of the
# stages, one data set on the CPU and the GPU, memory over 100 generations, a run that does not fit,
# the paper's iteration, compute-sanitizer on the stages and a small reconstruction and on the NUFFT.
# Usage: sh tests/gpu_mtip.sh BUILD_DIR [suites] [same] [memory] [refuse] [table2] [sanitize] [sanitize_nufft]
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
shift
mtip=$build/bin/mtip work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MTIP_REQUIRE_GPU=1
cat >"$work/small.yaml" <<END
molecule: {file: $root/tests/data/2LYZ.pdb, b_factor: 20}
detector: {pixels: 16, pixel_size: 2, distance: 53.7, beam_stop: 2}
simulate: {images: 150, photons_per_image: 2e3, output: d.h5}
data: {file: d.h5}
grid: {size: 21, diameter: 40}
run: {directory: run, generations: 3, final_generations: 1, attempts: 1, resolution_start: 0.5}
slice: {references: 300, final_references: 500}
phase: {loops: 1, starts: 2, generation_starts: 2}
parallel: {backend: cuda}
END
cp "$root/config/quickstart.yaml" "$work"
cd "$work" || exit 1

suites() { # all at once
  for test in test_kernels_cuda test_phase_cuda test_solve_cuda test_stages_cuda test_stage_pairs 'test_scatter_nufft cuda' test_fft test_nufft_graph \
    'test_nufft_cuda default' 'test_nufft_cuda gm' 'test_nufft_cuda gm-sort' 'test_nufft_cuda sm' \
    'test_nufft_cuda tile' 'test_nufft_cuda tensor' 'test_nufft_cuda gpu'; do
    {
      log=$(echo "$test" | tr ' ' .).log
      # shellcheck disable=SC2086
      timeout 300 "$build"/tests/$test >"$log" 2>&1
      echo "$test: $?, $(grep -c '^\[       OK' "$log") passed"
      grep -E 'FAILED|LineError|SKIPPED' "$log" | head -10
    } &
  done
  wait
}

same() { # FSC(0.5) on each backend, and how the maps correlate
  quick="--set molecule.file=$root/tests/data/2cex_a.pdb --set simulate.output=q.h5 --set data.file=q.h5"
  # shellcheck disable=SC2086
  "$mtip" -q simulate quickstart.yaml $quick
  for backend in cpu cuda; do
    start=$(date +%s.%N)
    # shellcheck disable=SC2086
    "$mtip" reconstruct quickstart.yaml $quick --set run.directory=$backend --set parallel.backend=$backend 2>&1 |
      grep -E 'done|memory'
    echo "$backend: $(echo "$start $(date +%s.%N)" | awk '{print $2 - $1}') s, $("$mtip" -q evaluate $backend | tail -1)"
  done
  "$mtip" -q evaluate cuda --truth cpu/density.mrc | grep -E 'correlation|FSC\(0.5\)'
}

memory() { # MiB of the process on the host and of the GPU, by generation
  "$mtip" -q simulate small.yaml
  "$mtip" reconstruct small.yaml --set run.generations=150 --set run.directory=long 2>log &
  run=$!
  while kill -0 $run 2>/dev/null; do
    echo "$(grep -c generation= log) $(awk '/VmRSS/ {print int($2 / 1024)}' /proc/$run/status)" \
      "$(nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader,nounits | awk -F, -v p=$run '$1 == p {print $2}')" \
      "$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | tr '\n' ' ')"
    sleep 0.3
  done | awk 'NR % 3 == 1 {print "generations, host MiB, GPU MiB: " $0}'
}

refuse() {
  "$mtip" -q simulate small.yaml
  "$mtip" reconstruct small.yaml --set grid.size=1024 --set run.directory=large
  echo "exit code $?"
}

table2() {
  "$mtip" -q bench mtip --table2 --backend cuda --repeat 15
}

tiny() { # of everything a little: racecheck takes thousands of times as long
  cat >tiny.yaml <<END
molecule: {file: $root/tests/data/2LYZ.pdb, b_factor: 20}
detector: {pixels: 8, pixel_size: 4, distance: 110, beam_stop: 2}
simulate: {images: 24, photons_per_image: 2e3, output: tiny.h5}
data: {file: tiny.h5}
grid: {size: 13, diameter: 40}
run: {generations: 2, final_generations: 1, attempts: 1, resolution_start: 0.5}
slice: {references: 30, final_references: 30}
merge: {iterations: 3}
phase: {loops: 1, final_loops: 1, er: 3, hio: 3, starts: 2, generation_starts: 2}
parallel: {backend: cuda, threads: 2}
END
  "$mtip" -q simulate tiny.yaml
}

check() { # TOOL NAME COMMAND...
  tool=$1 log=$1.$2.log what="$1 $2" start=$(date +%s)
  shift 2
  [ "$tool" != racecheck ] || tool="$tool --kernel-name-exclude kns=fft --kernel-name-exclude kns=gemm"
  # shellcheck disable=SC2086
  timeout "${SANITIZE_S:-140}" compute-sanitizer --tool $tool "$@" >"$log" 2>&1
  echo "$what: $? after $(($(date +%s) - start)) s, $(grep SUMMARY "$log")"
}

hazards() {
  wait
  grep -hE '^=========' ./*check.*.log | grep -vE 'SUMMARY|COMPUTE-SANITIZER' | head -20
}

sanitize() { # all at once; a library's products and transforms are not watched for races
  tiny
  for tool in memcheck racecheck; do
    for suite in slice match merge phase average; do
      check $tool $suite "$build"/tests/test_stages_cuda $suite &
    done
    check $tool reconstruct "$mtip" reconstruct tiny.yaml --set run.directory=$tool &
  done
  hazards
}

sanitize_nufft() {
  for tool in memcheck initcheck synccheck; do
    check $tool nufft "$build"/tests/sanitize_nufft_cuda &
  done
  for part in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
    check racecheck nufft.$part "$build"/tests/sanitize_nufft_cuda $part 15 &
  done
  hazards
}

for step in "$@"; do
  echo "== $step"
  $step
done
