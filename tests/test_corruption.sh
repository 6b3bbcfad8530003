#!/bin/sh
# A device that computes wrongly is noticed, stage by stage, and one that does not is left alone.
# Usage: test_corruption.sh MTIP_FLIP SOURCE_DIR cpu|cuda
mtip=$1 source=$2 device=$3
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
if [ "$device" = cuda ] && ! "$mtip" info 2>/dev/null | grep -q GPU-; then
  [ -z "$MTIP_REQUIRE_GPU" ] || exit 1
  exit 77
fi
failed=0
cat >a.yaml <<END
molecule: {file: $source/tests/data/2LYZ.pdb, b_factor: 30}
detector: {pixels: 12, pixel_size: 2, distance: 60, beam_stop: 2}
simulate: {images: 60, photons_per_image: 1e4, output: images.h5}
data: {file: images.h5}
grid: {size: 15, diameter: 45}
slice: {references: 120, final_references: 120, batch: 50}
phase: {starts: 2, generation_starts: 1, loops: 1, final_loops: 1, er: 5, hio: 5}
run: {generations: 4, final_generations: 2, attempts: 1, check_invariants: true, directory: run}
parallel: {backend: $device}
END
"$mtip" simulate -q a.yaml >out 2>&1 || { cat out; failed=1; }
# wrong FUNCTION EVERY TEXT: flipped bits end the run with this complaint.
wrong() {
  rm -rf run
  MTIP_FLIP=$1 MTIP_FLIP_EVERY=$2 MTIP_FLIP_CALL=2 "$mtip" -q reconstruct a.yaml >out 2>&1
  got=$?
  [ $got -eq 7 ] && grep -q "$3" out && grep -q 'the device computes wrongly' run/FAILED && return
  echo "bits of $1 (every $2th; 0: one): exit code $got, expected 7 and: $3"
  tail -n 3 out
  failed=1
}
for how in 'emc single' 'emc double' 'ncc single' 'l2 double'; do
  rm -rf run
  "$mtip" -q reconstruct a.yaml --set match.method="${how% *}" --set run.precision="${how#* }" \
    >out 2>&1 || { echo "nothing is wrong ($how), but:"; tail -n 3 out; failed=1; }
done
wrong slicer_run 2 'a slice is wrong'
wrong match_add 2 'a score is wrong'
wrong match_tomograms 7 'the sum of the tomograms is'
wrong merger_add 7 'the merged signal is'
wrong merger_kernel 0 'the kernel of the merge breaks'
wrong merger_data 10 'the merged data breaks'
wrong merger_solve 0 'the merged autocorrelation'
wrong phaser_get 10 'a phased density'
wrong phaser_autocorrelation 7 "the density's autocorrelation at 0 is"
wrong phaser_autocorrelation 10 "the density's autocorrelation breaks"
exit $failed
