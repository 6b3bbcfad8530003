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
  [ "$(grep -c '^ *[1-9r]' "$work/table")" -ge 4 ]
  [ "$(cut -d, -f1 "$work/$mode.csv" | tr '\n' ' ')" = "ranks 1 2 3 " ]
  if grep -qiE 'nan|inf' "$work/$mode.csv" "$work/$mode.svg"; then exit 1; fi
  [ "$(grep -c 'stroke-width="1.8"' "$work/$mode.svg")" -eq 8 ]
  tail -1 "$work/$mode.svg" | grep -q '</svg>'
done
# Of all ranks alone; and tables put together, with the efficiency of each against the fewest ranks.
mpi 2 "$mtip" bench mtip --strong --only $small --csv "$work/only.csv" >"$work/table"
[ "$(cut -d, -f1 "$work/only.csv" | tr '\n' ' ')" = "ranks 2 " ]
[ "$(sed -n '2s/.*,//p' "$work/only.csv")" = 1.0000 ]
{ grep -v '^2,' "$work/strong.csv"; cat "$work/only.csv"; } >"$work/rows"
"$mtip" bench mtip --strong --read "$work/rows" --csv "$work/all.csv" --svg "$work/all.svg" >"$work/table"
[ "$(cut -d, -f1 "$work/all.csv" | tr '\n' ' ')" = "ranks 1 2 3 " ]
for table in strong all; do grep -v '^2,' "$work/$table.csv" >"$work/$table.others"; done
cmp "$work/strong.others" "$work/all.others"
awk -F, 'NR == 2 { first = $(NF - 4) } NR > 2 { e = first / $1 / $(NF - 4)
  if ($NF - e > 1e-4 || e - $NF > 1e-4) exit 1 }' "$work/all.csv"
[ "$(grep -c 'stroke-width="1.8"' "$work/all.svg")" -eq 8 ]
# A model of them: what it is fitted to, compared with, and asked for.
"$mtip" bench mtip --strong --read "$work/all.csv" --forecast 8,64 --csv "$work/forecast.csv" --svg "$work/forecast.svg" >"$work/table"
[ "$(cut -d, -f1,3 "$work/forecast.csv" | tr '\n' ' ')" = "ranks,fitted 1,yes 2,yes 3,yes 8,no 64,no " ]
grep -q '^phase  *repeated' "$work/table"
tail -1 "$work/forecast.svg" | grep -q '</svg>'
status=0
"$mtip" bench mtip --strong --read "$work/only.csv" --forecast 8 2>"$work/message" || status=$?
[ $status -eq 4 ]
for wrong in strong.csv all.svg none; do # rows twice, no rows, no file
  status=0
  cat "$work/rows" "$work/$wrong" >"$work/twice" 2>/dev/null || rm "$work/twice"
  "$mtip" bench mtip --weak --read "$work/twice" 2>"$work/message" || status=$?
  [ $status -eq 4 ]
done
for wrong in "--table2 --only" "" "--weak --size 3" "--weak --backend gpu" "--table2 --merged 5" "--strong --wide 3" "--weak --forecast 8"; do
  status=0
  "$mtip" bench mtip $wrong 2>"$work/message" || status=$?
  [ $status -eq 2 ]
done
