#!/bin/sh
# From a PDB file to a density map: the quickstart case from the images alone on two ranks; and the
# same images with raw L2 matching, which must be reported as not converged.
# Usage: test_end_to_end.sh MTIP MPIRUN SOURCE_DIR
mtip=$1 mpirun=$2 source=$3
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$source" || exit 1
failed=0
say() { echo "$*"; failed=1; }
# run COMMAND NAME SETTING...: on two ranks, results in NAME.
run() {
  command=$1 name=$2
  shift 2
  settings="--set simulate.output=$work/images.h5 --set data.file=$work/images.h5"
  settings="$settings --set run.directory=$work/$name"
  for s in "$@"; do settings="$settings --set $s"; done
  # shellcheck disable=SC2086
  "$mpirun" --oversubscribe --bind-to none -n 2 "$mtip" -q "$command" config/quickstart.yaml \
    $settings >"$work/$name.out" 2>"$work/$name.err" ||
    { say "$name: $command failed"; cat "$work/$name.err"; }
  cat "$work/$name.out"
}
# reaches NAME LIMIT: converged, and FSC(0.5) against the truth of at most LIMIT Angstrom.
reaches() {
  "$mtip" -q evaluate "$work/$1" >"$work/$1.eval" || say "$1: evaluate failed"
  cat "$work/$1.eval"
  grep -q '[^T] converged' "$work/$1.out" || say "$1: not converged"
  tail -n 1 "$work/$1.eval" | awk -v limit="$2" '
    /^FSC\(0.5\) [0-9.]+ A$/ { good = $2 > 0 && $2 <= limit } END { exit !good }' ||
    say "$1: FSC(0.5) is not $2 A or better"
}
run simulate quickstart
run reconstruct quickstart
reaches quickstart 9
run reconstruct l2 match.method=l2 run.attempts=1 run.final_generations=1 \
  slice.final_references=6000 phase.starts=2 phase.final_loops=1
grep -q 'NOT converged' "$work/l2.out" || say 'raw L2 is not reported as not converged'
exit $failed
