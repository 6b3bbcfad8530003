#!/bin/sh
# Bits of a data set that have flipped, and runs that are interrupted: refused, or without effect; no
# crash, nothing half written.  Usage: test_interrupted.sh MTIP MPIRUN H5_TOOL SOURCE_DIR
mtip=$1 mpirun=$2 tool=$3 source=$4
. "$(dirname "$0")/lib.sh"
small_config "$source" 'generations: 2, final_generations: 1, directory: run, deterministic: true' >a.yaml
{ "$mtip" -q simulate a.yaml && "$mtip" -q reconstruct a.yaml; } >out 2>&1 ||
  { say 'cannot simulate or reconstruct'; cat out; }
cp -r run good

# What is read has checksums: a flipped bit is found, or lies where nothing is read.
for seed in 2 3 4 5 6 7 8 9 10 11; do
  cp images.h5 bad.h5
  "$tool" flip bad.h5 $seed || say "cannot flip a bit"
  "$mtip" -q check a.yaml --set data.file=bad.h5 >out 2>&1
  checked=$?
  rm -rf run
  "$mtip" -q reconstruct a.yaml --set data.file=bad.h5 >out 2>&1
  got=$?
  [ $got -eq $checked ] || say "bit $seed: check exits with $checked, reconstruct with $got"
  case $got in
  0) cmp run/density.mrc good/density.mrc || say "bit $seed: another map, and no word of it" ;;
  4) grep -q 'bad.h5: ' out || say "bit $seed: which file?" ;;
  *) say "bit $seed: exit code $got" ;;
  esac
done

# An interrupted run says so, and its results are those of one that was not (more: resume).
rm -rf run
"$mtip" -q reconstruct a.yaml --set run.generations=100000 >out 2>&1 &
sleep 2
kill -INT $!
wait $!
[ $? -eq 85 ] && grep -q 'SIGINT was received' run/STOPPED || { say "interrupted: exit code $?"; cat out; }
# One of two ranks is killed: the other ends too.
rm -rf run
# shellcheck disable=SC2016
timeout -s KILL 60 "$mpirun" --oversubscribe -n 2 sh -c \
  'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then exec timeout -s KILL 4 "$@"; else exec "$@"; fi' \
  rank "$mtip" -q reconstruct a.yaml --set run.generations=100000 >out 2>&1
got=$?
[ $got -eq 137 ] && grep -q 'signal 9' out || { say "a rank killed: exit code $got"; cat out; }
exit $failed
