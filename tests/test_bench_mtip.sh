#!/bin/sh
# The benchmarks of all stages run at small sizes, and leave a table and a plot.
# Usage: test_bench_mtip.sh MTIP
# shellcheck disable=SC2086
set -e
mtip=$1
. "$(dirname "$0")/../jobs/mpi.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
small="--backend cpu --threads 1 --size 21 --pixels 16 --images 40 --references 50 --merged 60 --cg 5
  --loops 1 --repeat 1 --tolerance 1e-6"
"$mtip" bench mtip --table2 $small >"$work/table"
for stage in slicing merging slice match merge solve phase all; do
  grep -q "^$stage " "$work/table"
done
for mode in weak strong; do
  mpi 3 "$mtip" bench mtip --$mode $small --csv "$work/$mode.csv" --svg "$work/$mode.svg" >"$work/table"
  [ "$(wc -l <"$work/$mode.csv")" -eq 4 ] # the header, and 1, 2, 3 ranks
  [ "$(wc -l <"$work/table")" -eq 4 ]
  [ "$(cut -d, -f1 "$work/$mode.csv" | tr '\n' ' ')" = "ranks 1 2 3 " ]
  if grep -qiE 'nan|inf' "$work/$mode.csv" "$work/$mode.svg"; then exit 1; fi
  [ "$(grep -c 'stroke-width="1.8"' "$work/$mode.svg")" -eq 8 ]
  tail -1 "$work/$mode.svg" | grep -q '</svg>'
done
for wrong in "" "--weak --size 3" "--weak --backend gpu" "--table2 --merged 5" "--strong --wide 3"; do
  status=0
  "$mtip" bench mtip $wrong 2>"$work/message" || status=$?
  [ $status -eq 2 ]
done
