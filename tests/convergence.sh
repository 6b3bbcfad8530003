#!/bin/sh
# The campaign behind "finds the structure from scratch": the reference case over seeds of data and
# start, fewer photons, a wrong diameter, and raw L2 matching, which must be reported as not
# converged.  Each beside the same pipeline started from the true orientations.
# Prints a table: case, seed, FSC(0.5) from scratch, from the truth, verdict, seconds.
# Usage: sh tests/convergence.sh [bright|dim|wide|l2|all] [SEEDS]   (RANKS=2, OUT=convergence)
set -e
cd "$(dirname "$0")/.."
what=${1:-all}
seeds=${2:-}
ranks=${RANKS:-2}
out=${OUT:-convergence}
. jobs/mpi.sh
mkdir -p "$out"
mtip=${MTIP:-build/bin/mtip}

number() { # KEY FILE: a number of evaluate's JSON
  sed -n "s/^ *\"$1\": *\([^,]*\),*$/\1/p" "$2"
}

reconstruct() { # NAME SETTINGS...: prints FSC(0.5) and the verdict
  name=$1
  shift
  mpi "$ranks" "$mtip" -q reconstruct config/quickstart.yaml --set run.directory="$out/$name" "$@" \
    >"$out/$name.out" 2>"$out/$name.log" || { echo "failed failed"; return; }
  "$mtip" -q evaluate "$out/$name" --json >"$out/$name.json"
  verdict=yes
  grep -q 'NOT converged' "$out/$name.out" && verdict=no
  echo "$(number fsc05_angstrom "$out/$name.json") $verdict"
}

one() { # CASE SEED LIMIT SIMULATE_SETTINGS -- RECONSTRUCT_SETTINGS
  case=$1 seed=$2 limit=$3
  shift 3
  data="$out/$case-$seed.h5"
  simulate=
  while [ "$1" != -- ]; do simulate="$simulate --set $1"; shift; done
  shift
  settings="--set data.file=$data --set run.seed=$seed"
  for s in "$@"; do settings="$settings --set $s"; done
  # shellcheck disable=SC2086
  mpi "$ranks" "$mtip" -q simulate config/quickstart.yaml --set simulate.seed="$seed" \
    --set simulate.output="$data" $simulate
  start=$(date +%s)
  # shellcheck disable=SC2086
  scratch=$(reconstruct "$case-$seed" $settings)
  seconds=$(($(date +%s) - start))
  # shellcheck disable=SC2086
  truth=-
  [ "$case" = l2 ] || truth=$(reconstruct "$case-$seed-truth" $settings --set run.true_orientations=true)
  rm -f "$data"
  printf '%-8s %4s  %8s  %8s  %-7s %5s  %s\n' "$case" "$seed" "${scratch% *}" "${truth% *}" \
    "${scratch#* }" "$seconds" \
    "$(echo "${scratch% *} $limit ${scratch#* }" | awk '{
      good = $1 + 0 > 0 && $1 <= $2
      print (good ? "good" : "poor") " " ((good && $3 == "yes") || (!good && $3 == "no") ? "right" : "WRONG")}')"
}

printf 'measured on commit %s, %s ranks\n' "$(git describe --always --dirty 2>/dev/null)" "$ranks"
printf '%-8s %4s  %8s  %8s  %-7s %5s  %s\n' case seed 'FSC0.5' 'truth' verdict s 'map verdict'
if [ "$what" = bright ] || [ "$what" = all ]; then
  for s in $(seq 1 "${seeds:-10}"); do one bright "$s" 9 --; done
fi
if [ "$what" = dim ] || [ "$what" = all ]; then
  for s in $(seq 1 "${seeds:-5}"); do
    one dim "$s" 10 simulate.images=4000 simulate.photons_per_image=1000 simulate.fluence_jitter=0.5 --
  done
fi
if [ "$what" = wide ] || [ "$what" = all ]; then
  for s in $(seq 1 "${seeds:-1}"); do one wide "$s" 9 -- grid.diameter=88.4; done
fi
if [ "$what" = l2 ] || [ "$what" = all ]; then
  for s in $(seq 1 "${seeds:-5}"); do one l2 "$s" 9 -- match.method=l2; done
fi
