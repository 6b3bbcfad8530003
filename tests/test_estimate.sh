#!/bin/sh
# mtip estimate: before the data are there and after, what a run then takes, and what does not fit.
# Usage: test_estimate.sh MTIP SOURCE_DIR
mtip=$1 source=$2
. "$(dirname "$0")/lib.sh"
cat >a.yaml <<END
molecule: {file: $source/tests/data/2LYZ.pdb}
detector: {pixels: 16, pixel_size: 1.5, distance: 60, beam_stop: 2}
simulate: {images: 400, photons_per_image: 1e4, output: images.h5}
data: {file: images.h5}
grid: {size: 25, diameter: 45}
slice: {references: 1000, final_references: 4000}
phase: {starts: 2, generation_starts: 1, loops: 1, final_loops: 1, er: 3, hio: 3}
run: {generations: 3, final_generations: 2, attempts: 1, directory: run}
parallel: {backend: cpu, threads: 1}
END
# expect CODE TEXT ARGUMENT...
expect() {
  code=$1 text=$2
  shift 2
  "$mtip" estimate a.yaml "$@" >out 2>err
  got=$?
  [ $got -eq "$code" ] && cat out err | grep -qF -- "$text" && return
  say "estimate $*: exit code $got, expected $code and: $text"
  cat out err
}
field() { sed -n "s/.*\"$1\": \([0-9.e+-]*\).*/\1/p" out; }
expect 0 'images.h5 is not there yet' --json
before=$(field host_bytes) pixels=$(field pixels)
"$mtip" -q simulate a.yaml || say 'no data'
expect 0 '"images": 400' --json
after=$(field host_bytes)
[ "$(field pixels)" = "$pixels" ] || say "pixels: $pixels before, $(field pixels) with the data"
awk "BEGIN {exit !($(field seconds) > 0 && $(field generation_seconds) > 0)}" || say "times: $(cat out)"
awk "BEGIN {exit !($before > 0.9 * $after && $before < 1.1 * $after)}" ||
  say "$before bytes before, $after with the data"
expect 5 'GiB of the host are free for it; use more ranks' --host-memory 0.01
expect 5 'the run takes about' --time-limit 0.001
expect 5 'GiB of its GPU are free for it' --gpus 1 --gpu-memory 0.01
expect 5 'every node needs a rank' --nodes 2
expect 2 "write a number of at least 1" --ranks 0
expect 2 "write a whole number" --ranks 1.5
expect 0 'place           1 rank on 1 node and 0 GPUs'
expect 5 '2 GPUs for 1 rank, which can use one each' --gpus 2
expect 0 '4 ranks on 2 nodes' --ranks 4 --nodes 2
grep -q '^time ' out || say "no time: $(cat out)"
"$mtip" reconstruct a.yaml >out 2>&1 || say "the run failed: $(cat out)"
peak=$(sed -n 's/.*peak memory \([0-9]*\) MiB.*/\1/p' out)
awk "BEGIN {m = $peak * 1048576; exit !($after > 0.75 * m && $after < 1.25 * m)}" ||
  say "forecast $after bytes, the run took $peak MiB"
[ $failed -eq 0 ] && echo "forecast $after bytes, the run took $peak MiB"
exit $failed
