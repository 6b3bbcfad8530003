#!/bin/sh
# Scaling over nodes: a job for each number of nodes, then one table and one plot of all of them.
#   sh jobs/scaling.sh submit weak|strong DIR 'N...' JOBSCRIPT_OPTION...
#   sh jobs/scaling.sh collect weak|strong DIR
# For example
#   sh jobs/scaling.sh submit weak ladder '1 2 4 8' --system perlmutter --account PROJECT --time 10:00
#   sh jobs/scaling.sh collect weak ladder       # when the jobs are over: ladder/weak.csv, ladder/weak.svg
# Of the environment: MTIP, the program (mtip); BENCH, options of mtip bench mtip, such as sizes;
# FORECAST, numbers of ranks such as 64,1000: what a model fitted to the rows says of them, too.
set -e
mtip=${MTIP:-mtip}
usage() {
  sed -n '2,9s/^# //p' "$0" >&2
  exit 2
}
[ $# -ge 3 ] || usage
what=$1 mode=$2 dir=$3
case $mode in weak | strong) ;; *) usage ;; esac
shift 3

submit() {
  [ $# -ge 3 ] || usage
  sizes=$1
  shift
  mkdir -p "$dir"
  for n in $sizes; do
    script=$dir/$mode-$n.sh
    # shellcheck disable=SC2086
    "$mtip" jobscript "$@" -N "$n" --output "$script" -- \
      bench mtip "--$mode" --only --csv "$dir/$mode-$n.csv" $BENCH
    if grep -q '^#BSUB' "$script"; then bsub "$script"; else sbatch "$script"; fi
  done
}

collect() {
  for script in "$dir/$mode"-*.sh; do
    [ -s "${script%.sh}.csv" ] || echo "no results yet of $script" >&2
  done
  cat "$dir/$mode"-*.csv >"$dir/$mode.rows"
  "$mtip" bench mtip "--$mode" --read "$dir/$mode.rows" --csv "$dir/$mode.csv" --svg "$dir/$mode.svg"
  rm "$dir/$mode.rows"
  [ -z "$FORECAST" ] || "$mtip" bench mtip "--$mode" --read "$dir/$mode.csv" --forecast "$FORECAST" \
    --csv "$dir/forecast-$mode.csv" --svg "$dir/forecast-$mode.svg"
}

case $what in
submit) submit "$@" ;;
collect) collect ;;
*) usage ;;
esac
