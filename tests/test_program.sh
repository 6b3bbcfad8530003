#!/bin/sh
# The program as its user sees it: exit codes, what goes to stdout and what to stderr.
# Usage: test_program.sh MTIP PDB [MPIRUN]
mtip=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
# expect CODE STREAM TEXT ARGUMENT...: exits with CODE, and STREAM (out or err) holds TEXT.
expect() {
  code=$1 stream=$2 text=$3
  shift 3
  "$mtip" "$@" >"$work/out" 2>"$work/err"
  got=$?
  if [ $got -ne "$code" ] || ! grep -qF -- "$text" "$work/$stream"; then
    echo "mtip $*: exit code $got, expected $code and on std$stream: $text"
    cat "$work/out" "$work/err"
    failed=1
  fi
}
printf 'grid:\n  size: 45\n  diameter: 70\n' >"$work/good.yaml"
printf 'grid:\n  size: 12x8\n' >"$work/bad.yaml"

expect 0 out 'commands:' --help
expect 0 out 'usage: mtip check CONFIG|DATA...' check --help
expect 0 out 'usage: mtip info [OPTION]...' info --help
expect 0 out 'usage: mtip bench nufft|mtip' bench --help
expect 0 out 'Times nonuniform FFTs' bench nufft --help
expect 0 out 'usage: mtip bench mtip [OPTION]...' bench mtip --help
expect 0 out 'mtip 0.' --version
expect 0 out 'size: 41' --help-config
expect 2 err "unknown command 'chekc', did you mean 'check'?" chekc
expect 2 err 'no command' -q
expect 0 out 'particle        70 A' check "$work/good.yaml"
expect 3 err 'good.yaml:2:3: grid.size is 45 voxels' check "$work/good.yaml" --set grid.diameter=110
expect 0 err '52 would hold all of the autocorrelation' check "$work/good.yaml" --set grid.diameter=90
expect 3 err 'bad.yaml:2:9: grid.size' check "$work/bad.yaml"
expect 2 err '--set grid.size=x' check "$work/good.yaml" --set grid.size=x
expect 3 err 'a directory' check "$work"
expect 4 err 'it is no directory of a run that is done' evaluate "$work"
expect 0 out 'HDF5' info
# info_threads COMMAND...: the first rank's, of its table.
info_threads() { "$@" info 2>/dev/null | awk '$1 == "0" && NF == 6 {print $5}'; }
# threads EXPECTED GOT
threads() { [ "$1" = "$2" ] || { echo "threads: '$2', expected $1"; failed=1; }; }
seen=$(getconf _NPROCESSORS_ONLN) bound=$(env -u OMP_NUM_THREADS nproc)
threads 3 "$(OMP_NUM_THREADS=3 info_threads "$mtip")"
threads 2 "$(OMP_NUM_THREADS=2,5 info_threads "$mtip")"
threads "$bound" "$(unset OMP_NUM_THREADS; info_threads "$mtip")"
SLURM_STEP_NUM_TASKS=4 expect 5 err 'srun --mpi=pmix' info

# Data sets: one that is not there yet, a good one, one cut short.
cat >"$work/run.yaml" <<END
molecule: {file: $2}
simulate: {images: 3, photons_per_image: 1e4, output: $work/images.h5}
data: {file: $work/images.h5}
grid: {diameter: 60, size: 41}
END
expect 0 err 'images.h5 is not there yet' check "$work/run.yaml"
expect 4 err 'none.pdb: cannot open' check "$work/run.yaml" --set molecule.file=none.pdb
expect 0 err 'images.h5' simulate "$work/run.yaml"
expect 0 err 'grid.diameter is 30 A, less than' simulate "$work/run.yaml" \
  --set grid.diameter=30 --set simulate.output="$work/other.h5"
expect 0 err 'raise simulate.photons_per_image' simulate "$work/run.yaml" \
  --set simulate.photons_per_image=0.1 --set simulate.output="$work/dim.h5"
expect 0 out 'images          3 of 1 x 32 x 32 pixels' check "$work/images.h5"
expect 0 out 'images          3 of 1 x 32 x 32 pixels' check "$work/run.yaml"
expect 0 out 'voxel           3.' check "$work/run.yaml"
expect 0 err 'simulate has not run since' check "$work/run.yaml" --set detector.pixels=64
expect 0 err 'but the settings say 1 mm at 80 mm' check "$work/run.yaml" --set detector.distance=80
expect 3 err '--set data.images: it is 4, but' check "$work/run.yaml" --set data.images=4
expect 3 err '--set grid.size: it is 25 voxels' check "$work/run.yaml" --set grid.size=25
head -c 5000 "$work/images.h5" >"$work/cut.h5"
expect 4 err 'cut.h5' check "$work/cut.h5"

# Under MPI: one table of all ranks, one message, everybody's exit code.
if [ -n "$3" ]; then
  "$3" --oversubscribe -n 3 "$mtip" info >"$work/out" 2>"$work/err"
  got=$?
  if [ $got -ne 0 ] || [ "$(grep -c '^     [012]  ' "$work/out")" -ne 3 ]; then
    echo "info on three ranks: exit code $got"; cat "$work/out" "$work/err"; failed=1
  fi
  share=$((seen / 3 > 1 ? seen / 3 : 1))
  [ $((bound * 3)) -le "$seen" ] && share=$bound
  threads "$share" "$(unset OMP_NUM_THREADS; info_threads "$3" --oversubscribe --bind-to none -n 3 "$mtip")"
  threads 3 "$(OMP_NUM_THREADS=3 info_threads "$3" --oversubscribe -n 3 "$mtip")"
  "$3" --oversubscribe -n 3 "$mtip" reconstruct "$work/bad.yaml" >"$work/out" 2>"$work/err"
  got=$?
  if [ $got -ne 3 ] || [ "$(grep -c "grid.size: '12x8'" "$work/err")" -ne 1 ]; then
    echo "a bad config on three ranks: exit code $got"; cat "$work/out" "$work/err"; failed=1
  fi
fi

# The config it prints is one it reads, and says the same.
"$mtip" --help-config >"$work/default.yaml"
expect 0 out 'references' check "$work/default.yaml"
# Results that cannot be written are a failure.
[ -c /dev/full ] || { echo '/dev/full is not the device here: no full disk to write to'; failed=1; }
"$mtip" --help >/dev/full 2>/dev/null
[ $? -eq 6 ] || { echo "writing to a full disk did not exit with 6"; failed=1; }
"$mtip" check "$work/default.yaml" >/dev/full 2>/dev/null
[ $? -eq 6 ] || { echo "a check written to a full disk did not exit with 6"; failed=1; }
exit $failed
