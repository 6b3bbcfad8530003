#!/bin/sh
# The campaign behind "finds the structure from scratch": the reference case over seeds of data and
# start (bright), a tenth of the photons on four times the images with fluences +-50 % (dim), a
# diameter overstated 1.3 times (wide), and raw L2 matching, which must be reported as not converged
# (l2); each but l2 beside the same pipeline started from the true orientations.
# Prints a table: case, seed, FSC(0.5) in A from scratch and from the truth, the verdict and the
# resolution to which the halves agree, seconds; whether the map is as good as the case must be and
# whether the verdict is right about it.
# Usage: sh tests/convergence.sh [bright|dim|wide|l2|all] [SEEDS]
# Environment: RANKS=2 per run, JOBS=1 runs at once, OUT=convergence, MTIP=build/bin/mtip
set -e
cd "$(dirname "$0")/.."
ranks=${RANKS:-2} jobs=${JOBS:-1} out=${OUT:-convergence} mtip=${MTIP:-build/bin/mtip}
. jobs/mpi.sh

number() { # KEY FILE: a number of evaluate's JSON
  sed -n "s/^ *\"$1\": *\([^,]*\),*$/\1/p" "$2"
}

reconstruct() { # NAME SETTINGS...: prints FSC(0.5), yes or no, the halves' resolution
  name=$1
  shift
  mpi "$ranks" "$mtip" -q reconstruct config/quickstart.yaml --fresh --set run.directory="$out/$name" "$@" \
    >"$out/$name.out" 2>"$out/$name.err" || { echo "failed failed -"; return; }
  "$mtip" -q evaluate "$out/$name" --json >"$out/$name.json" 2>>"$out/$name.err"
  verdict=yes
  grep -q 'NOT converged' "$out/$name.out" && verdict=no
  echo "$(number fsc05_angstrom "$out/$name.json") $verdict $(number half_fsc05_angstrom "$out/$name.json")"
}

one() { # CASE SEED LIMIT [simulate.KEY=VALUE | KEY=VALUE]...
  case=$1 seed=$2 limit=$3 data="$out/$1-$2.h5" simulate='' settings=''
  shift 3
  for s in "$@"; do
    case $s in simulate.*) simulate="$simulate --set $s" ;; *) settings="$settings --set $s" ;; esac
  done
  settings="$settings --set data.file=$data --set run.seed=$seed"
  [ "$jobs" -eq 1 ] || settings="$settings --set parallel.threads=1"
  # shellcheck disable=SC2086
  mpi "$ranks" "$mtip" -q simulate config/quickstart.yaml --set simulate.seed="$seed" \
    --set simulate.output="$data" $simulate 2>"$out/$case-$seed.err"
  start=$(date +%s)
  # shellcheck disable=SC2086
  scratch=$(reconstruct "$case-$seed" $settings)
  seconds=$(($(date +%s) - start))
  truth=-
  # shellcheck disable=SC2086
  [ "$case" = l2 ] ||
    truth=$(reconstruct "$case-$seed-truth" $settings --set run.true_orientations=true)
  rm -f "$data"
  echo "$case $seed $scratch ${truth%% *} $seconds $limit" | awk '{
    good = $3 + 0 > 0 && $3 + 0 <= $8
    printf "%-7s %4s %8.2f %8s %8s %8.2f %5d  %s  %s\n", $1, $2, $3, $6 == "-" ? "-" : sprintf("%.2f", $6),
      $4, $5, $7, good ? "good" : "poor", (good ? "yes" : "no") == $4 ? "right" : "WRONG" }'
}

cases() { # WHAT SEEDS
  case $1 in
  bright) for s in $(seq 1 "${2:-10}"); do echo "bright $s 9"; done ;;
  dim) for s in $(seq 1 "${2:-5}"); do
    echo "dim $s 10 simulate.images=4000 simulate.photons_per_image=1000 simulate.fluence_jitter=0.5"
  done ;;
  wide) for s in $(seq 1 "${2:-1}"); do echo "wide $s 9 grid.diameter=88.4"; done ;;
  l2) for s in $(seq 1 "${2:-5}"); do echo "l2 $s 9 match.method=l2"; done ;;
  all) for w in dim l2 bright wide; do cases "$w" "${2:-}"; done ;;
  *) echo "convergence.sh: no case '$1'" >&2 && exit 2 ;;
  esac
}

if [ "${1:-}" = --one ]; then
  shift
  one "$@"
  exit
fi
mkdir -p "$out"
printf 'commit %s, %s ranks a run\n' "$(git describe --always --dirty 2>/dev/null || echo unknown)" "$ranks"
printf '%-7s %4s %8s %8s %8s %8s %5s  %s\n' case seed scratch truth verdict halves s 'map   verdict'
cases "${1:-all}" "${2:-}" | OUT=$out xargs -P "$jobs" -L 1 sh tests/convergence.sh --one
