#!/bin/sh
# A rank that stands still ends the run and is named; numbers that are none end it with the stage, and
# the checkpoint before is kept.
# Usage: test_stuck.sh MTIP MPIRUN H5_TOOL SOURCE_DIR INJECT_NAN_SO
mtip=$1 mpirun=$2 source=$4 inject=$5
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
say() { echo "$*"; tail -n 12 out; failed=1; }
cat >a.yaml <<END
molecule: {file: $source/tests/data/2LYZ.pdb, b_factor: 30}
detector: {pixels: 12, pixel_size: 2, distance: 60, beam_stop: 2}
simulate: {images: 60, photons_per_image: 1e4, output: images.h5}
data: {file: images.h5}
grid: {size: 15, diameter: 45}
slice: {references: 120, final_references: 120}
phase: {starts: 2, generation_starts: 1, loops: 1, final_loops: 1, er: 5, hio: 5}
run: {generations: 100000, directory: run, checkpoint_generations: 1, hang_timeout: 3}
END
"$mtip" simulate -q a.yaml >out 2>&1 || say 'cannot simulate'
rm out
SLURMD_NODENAME=n7 "$mpirun" --oversubscribe --bind-to none -n 3 "$mtip" reconstruct a.yaml --time-limit 60 >out 2>&1 &
run=$!
until grep -qs 'generation=2/' out || ! kill -0 $run; do sleep 0.05; done
victim=$(pgrep -P $run -x mtip | sed -n 2p)
kill -STOP "$victim"
wait $run
got=$?
[ $got -eq 8 ] || say "a rank that is stopped: exit code $got, expected 8"
grep -q "no progress for 3 s: rank [02] .*stage" out || say 'who waits, and at which stage?'
grep -q "rank 1 (process $victim on .*) is stopped" out || say 'who stands still?'
grep -q 'node fault: n7$' out || say 'which node is at fault?'
grep -q 'mtip(' out || say 'no stack'

# No numbers: whichever sum of products gives one (of OpenBLAS: a GPU does not ask it).
for at in 9 40; do
  rm -rf run
  MTIP_NAN_AT=$at LD_PRELOAD=$inject "$mtip" reconstruct a.yaml \
    --set run.hang_timeout=600 --set parallel.backend=cpu --time-limit 60 >out 2>&1
  got=$?
  [ $got -eq 7 ] && grep -q "not finite after stage match, number .* is the first\|the residual is nan" out ||
    say "a NaN from product $at: exit code $got"
done
[ -e run/checkpoint.h5 ] && grep -q 'not finite' run/FAILED || say 'the checkpoint before is lost'
exit $failed
