#!/bin/sh
# Kills a random rank of four at a random time, N times, and gives the same command again each time: no
# run fails otherwise, and every result is bit for bit the one of a run that was left alone.
# Usage: kill_loop.sh N [MTIP MPIRUN H5_TOOL SOURCE_DIR]
here=$(cd "$(dirname "$0")/.." && pwd)
n=${1:-200} mtip=${2:-$here/build/bin/mtip} mpirun=${3:-mpirun} tool=${4:-$here/build/tests/h5_tool}
source=${5:-$here}
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
cat >a.yaml <<END
molecule: {file: $source/tests/data/2LYZ.pdb, b_factor: 30}
detector: {pixels: 16, pixel_size: 2, distance: 80, beam_stop: 2}
simulate: {images: 150, photons_per_image: 1e5, output: images.h5}
data: {file: images.h5}
grid: {size: 15, diameter: 50}
slice: {references: 300, final_references: 300, batch: 70}
phase: {starts: 3, loops: 1, final_loops: 1, er: 10, hio: 10}
run: {generations: 8, final_generations: 3, attempts: 2, deterministic: true, checkpoint_generations: 1}
END
failed=0 kills=0 whole=0 seed=$n
say() { echo "$*"; failed=$((failed + 1)); }
# random LIMIT: the next number below LIMIT.
random() {
  seed=$(((seed * 1103515245 + 12345) % 2147483648))
  r=$((seed / 65536 % $1))
}
go() { # DIRECTORY: begins, as process $launcher
  "$mpirun" --oversubscribe --bind-to none -n 4 "$mtip" -q reconstruct a.yaml \
    --set run.directory="$1" >"$1.out" 2>&1 &
  launcher=$!
}
same() {
  for file in density.mrc density_half1.mrc density_half2.mrc fsc.txt orientations.txt; do
    cmp "alone/$file" "run/$file" || say "$file differs after $kills kills"
  done
  "$tool" same alone/result.h5 run/result.h5 /density /density_half1 /density_half2 \
    /autocorrelation /orientations /fluences /scores /fsc/value /history || say "after $kills kills"
}
"$mtip" simulate -q a.yaml || say 'cannot simulate'
begin=$(date +%s%N)
go alone
wait "$launcher" || { say 'the run that is left alone fails'; cat alone.out; }
span=$((($(date +%s%N) - begin) / 1000000)) # milliseconds
while [ $kills -lt "$n" ] && [ $failed -eq 0 ]; do
  go run
  random $((span + 1))
  sleep "$(printf '%d.%03d' $((r / 1000)) $((r % 1000)))"
  random 4
  victim=$(pgrep -P "$launcher" -x mtip | sed -n "$((r + 1))p")
  if [ -n "$victim" ] && kill -9 "$victim" 2>/dev/null; then kills=$((kills + 1)); fi
  wait "$launcher"
  got=$?
  case $got in
  0) same; whole=$((whole + 1)); rm -rf run ;;
  137) ;;
  *) say "exit code $got after $kills kills"; cat run.out ;;
  esac
done
go run
wait "$launcher" || { say 'the last run fails'; cat run.out; }
same
echo "$kills kills, $((whole + 1)) results compared with the one left alone ($span ms): $failed failures"
[ $failed -eq 0 ]
