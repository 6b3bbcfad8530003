#!/bin/sh
# From a PDB file to a density map: the quickstart case from the images alone on two ranks.
# Usage: test_end_to_end.sh MTIP MPIRUN SOURCE_DIR
mtip=$1 mpirun=$2 source=$3
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$source" || exit 1
failed=0
say() { echo "$*"; failed=1; }
# run NAME SETTING...: simulates and reconstructs on two ranks, prints what evaluate says.
run() {
  name=$1
  shift
  settings="--set simulate.output=$work/$name.h5 --set data.file=$work/$name.h5"
  settings="$settings --set run.directory=$work/$name"
  for s in "$@"; do settings="$settings --set $s"; done
  # shellcheck disable=SC2086
  for command in simulate reconstruct; do
    "$mpirun" --oversubscribe --bind-to none -n 2 "$mtip" -q $command config/quickstart.yaml \
      $settings >"$work/$name.out" 2>"$work/$name.err" ||
      { say "$name: $command failed"; cat "$work/$name.err"; return; }
  done
  "$mtip" -q evaluate "$work/$name" >"$work/$name.eval" || say "$name: evaluate failed"
  cat "$work/$name.out" "$work/$name.eval"
}
# reaches NAME LIMIT: converged, and FSC(0.5) against the truth of at most LIMIT Angstrom.
reaches() {
  grep -q '[^T] converged' "$work/$1.out" || say "$1: not converged"
  tail -n 1 "$work/$1.eval" | awk -v limit="$2" '
    /^FSC\(0.5\) [0-9.]+ A$/ { good = $2 > 0 && $2 <= limit } END { exit !good }' ||
    say "$1: FSC(0.5) is not $2 A or better"
}
run quickstart
reaches quickstart 9
exit $failed
