#!/bin/sh
# A checkpoint of the CPU, taken up on another device and back: not a bit of it changes on the way, and
# each goes on from it to the end.  Usage: test_resume_device.sh MTIP H5_TOOL SOURCE_DIR cpu|cuda
mtip=$1 tool=$2 source=$3 device=$4
if [ "$device" = cuda ] && ! "$mtip" info 2>/dev/null | grep -q GPU-; then
  [ -z "$MTIP_REQUIRE_GPU" ] || exit 1
  exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
say() { echo "$*"; tail -n 5 out; failed=1; }
cat >a.yaml <<END
molecule: {file: $source/tests/data/2LYZ.pdb, b_factor: 30}
detector: {pixels: 12, pixel_size: 2, distance: 60, beam_stop: 2}
simulate: {images: 60, photons_per_image: 1e4, output: images.h5}
data: {file: images.h5}
grid: {size: 15, diameter: 45}
slice: {references: 120, final_references: 120}
phase: {starts: 2, generation_starts: 1, loops: 1, final_loops: 1, er: 5, hio: 5}
run: {generations: 40, final_generations: 2, attempts: 1, directory: run}
parallel: {threads: 1}
END
go() { # CODE BACKEND OPTION...
  code=$1 backend=$2
  shift 2
  "$mtip" reconstruct a.yaml --set parallel.backend="$backend" "$@" >out 2>&1
  got=$?
  [ $got -eq "$code" ] || say "$backend $*: exit code $got, expected $code"
}
for precision in single double; do
  rm -rf run
  "$mtip" simulate -q a.yaml >out 2>&1 || say 'cannot simulate'
  p="--set run.precision=$precision"
  # shellcheck disable=SC2086
  {
    "$mtip" reconstruct a.yaml --set parallel.backend=cpu $p >out 2>&1 &
    until grep -qs 'half=2 generation=2/' out || ! kill -0 $!; do sleep 0.02; done
    touch run/STOP
    wait $!
    cp run/checkpoint.h5 first.h5 || say 'no checkpoint'
    for backend in "$device" cpu; do
      touch run/STOP
      go 85 "$backend" $p
      for half in half1 half2; do
        "$tool" same first.h5 run/checkpoint.h5 /$half/density /$half/model /$half/merged \
          /$half/fluences /$half/scores /$half/orientations || say "$precision: $half changed on $backend"
      done
    done
    go 0 "$device" $p
  }
done
exit $failed
