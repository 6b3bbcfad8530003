#!/bin/sh
# mtip reconstruct on different numbers of ranks and threads: the same bits where they are promised,
# the same map where they are not.
# Usage: test_ranks.sh MTIP MPIRUN H5_TOOL SOURCE_DIR
mtip=$1 mpirun=$2 tool=$3 source=$4
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
say() { echo "$*"; failed=1; }
cat >a.yaml <<END
molecule: {file: $source/tests/data/2LYZ.pdb, b_factor: 30}
detector: {pixels: 16, pixel_size: 2, distance: 80, beam_stop: 2}
simulate: {images: 150, photons_per_image: 1e5, fluence_jitter: 0.2, output: images.h5}
data: {file: images.h5}
grid: {size: 15, diameter: 50}
slice: {references: 300, final_references: 300, batch: 70}
phase: {starts: 3, loops: 1, final_loops: 1, er: 10, hio: 10}
run: {generations: 3, final_generations: 1, attempts: 1}
END
# go NAME RANKS SETTING...: reconstructs into folder NAME.
go() {
  name=$1 ranks=$2
  shift 2
  settings=
  for s in "$@"; do settings="$settings --set $s"; done
  # shellcheck disable=SC2086
  "$mpirun" --oversubscribe -n "$ranks" "$mtip" -q reconstruct a.yaml --set run.directory="$name" \
    $settings >"$name.out" 2>"$name.err" || { say "$name: failed"; cat "$name.err"; }
}
# same A B: all results of two runs are the same bits.
same() {
  for file in density.mrc density_half1.mrc density_half2.mrc fsc.txt orientations.txt; do
    cmp "$1/$file" "$2/$file" || say "$file of $1 and $2 differ"
  done
  "$tool" same "$1/result.h5" "$2/result.h5" /density /density_half1 /density_half2 \
    /autocorrelation /orientations /fluences /scores /fsc/value || failed=1
}
"$mtip" simulate -q a.yaml || say 'cannot simulate'

# Bit for bit: ranks, threads, batches whose scores are kept or not, who reads, the truth unknown.
d=run.deterministic=true
OMP_NUM_THREADS=2 go one 1 $d
grep -q 'threads of each: 2$' one/log.txt || say 'not the two threads of OMP_NUM_THREADS'
for ranks in 2 3 4; do
  go "ranks$ranks" $ranks $d
  same one "ranks$ranks"
done
"$mpirun" --oversubscribe -n 3 "$mtip" -q reconstruct a.yaml --profile --set run.directory=profile \
  --set $d >profile.out 2>&1
[ "$(grep -c '^ *[0-9] [a-z]* .*[0-9]$' profile.out)" -eq 18 ] || say 'the profile lacks stages of ranks'
same one profile
OMP_NUM_THREADS=1 go threads 1 $d parallel.threads=2
grep -q 'threads of each: 2$' threads/log.txt || say 'not the two threads of parallel.threads'
same one threads
go both 2 $d parallel.threads=2 run.precision=double
go both1 1 $d parallel.threads=1 run.precision=double
same both both1
go scatter 3 $d parallel.read=scatter
same one scatter
cp images.h5 blind.h5
"$tool" damage blind.h5 truth || say 'cannot take the truth away'
go blind 2 $d data.file=blind.h5
same one blind
"$mtip" simulate -q a.yaml --set simulate.truth=false --set simulate.output=untold.h5
go untold 1 data.file=untold.h5 $d
same one untold
"$tool" same images.h5 untold.h5 /intensities || failed=1
"$tool" same images.h5 untold.h5 /orientations >/dev/null 2>&1 && say 'simulate.truth: false has truth'

# Sums in any order: from the true orientations, where a generation is no lottery, the merged
# autocorrelation is that of one rank up to rounding, and on CPUs the map, too: a single phasing may
# amplify the rounding of a GPU, which no two runs share (run_ranks.cuda compares one generation).
t='run.true_orientations=true run.precision=double phase.starts=1'
for backend in auto cpu; do
  # shellcheck disable=SC2086
  go ${backend}1 1 $t parallel.backend=$backend
  for ranks in 2 3 4; do
    # shellcheck disable=SC2086
    go "$backend$ranks" $ranks $t parallel.backend=$backend
    "$tool" alike ${backend}1/result.h5 "$backend$ranks/result.h5" /autocorrelation 0.999 || failed=1
    [ $backend = auto ] || "$tool" alike cpu1/result.h5 "cpu$ranks/result.h5" /density 0.98 || failed=1
  done
done

# More ranks than blocks of images, and than images.
for images in 7 3; do
  go "few$images" 4 $d data.images=$images
  go "few$images-1" 1 $d data.images=$images
  same "few$images" "few$images-1"
  go "scatter$images" 4 data.images=$images parallel.read=scatter
  go "ncc$images" 4 data.images=$images match.method=ncc
done
exit $failed
