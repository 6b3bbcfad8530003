#!/bin/sh
# An MPI call that fails on one rank ends all of them, with the call and the reason; an MPI library
# without the thread level that is needed is refused.
# Usage: test_mpi_fault.sh MTIP MPIRUN SOURCE_DIR INJECT_MPI_SO
mtip=$1 mpirun=$2 source=$3 inject=$4
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
cat >a.yaml <<END
molecule: {file: $source/tests/data/2LYZ.pdb, b_factor: 30}
detector: {pixels: 12, pixel_size: 2, distance: 60, beam_stop: 2}
simulate: {images: 60, photons_per_image: 1e4, output: images.h5}
data: {file: images.h5}
grid: {size: 15, diameter: 45}
slice: {references: 120, final_references: 120}
phase: {starts: 2, generation_starts: 1, loops: 1, final_loops: 1, er: 5, hio: 5}
run: {generations: 2, final_generations: 1, attempts: 1, checkpoint_generations: 1, directory: run}
END
# go NAME=VALUE...: reconstructs on three ranks; exit code in $got.
go() {
  rm -rf run
  timeout 100 env "$@" LD_PRELOAD="$inject" "$mpirun" --oversubscribe --bind-to none -n 3 "$mtip" \
    reconstruct a.yaml >out 2>&1
  got=$?
}
# expect CODE TEXT WHAT: of the last go.
expect() {
  [ $got -eq "$1" ] && [ "$(grep -c "$2" out)" -ge 1 ] && return
  echo "$3: exit code $got, expected $1 and: $2"
  tail -n 8 out
  failed=1
}
"$mtip" simulate -q a.yaml >out 2>&1 || { cat out; failed=1; }
# FUNCTION RANK CALL: early and late ones, of all ranks and between two.
for what in 'MPI_Comm_split_type 1 1' 'MPI_Comm_split 2 1' 'MPI_Bcast 0 1' 'MPI_Bcast 1 20' 'MPI_Allgatherv 1 4' \
  'MPI_Allreduce 2 90' 'MPI_Reduce 0 1' 'MPI_Send 1 1' 'MPI_Recv 0 1'; do
  # shellcheck disable=SC2086
  set -- $what
  go "MTIP_MPI_FAIL=$1" "MTIP_MPI_RANK=$2" "MTIP_MPI_AT=$3"
  expect 8 "$1.* failed: MPI_ERR_OTHER" "call $3 of $1 on rank $2"
  [ -e run/DONE ] && { echo "call $3 of $1 on rank $2: and yet it is done"; failed=1; }
done
go MTIP_MPI_LEVEL=0
expect 5 'the MPI library gives thread level 0, funneled (1) is needed' 'the thread level'
[ "$(grep -c 'thread level' out)" -eq 1 ] || { echo 'every rank says so'; failed=1; }
exit $failed
