#!/bin/sh
# Dragonfly's photons of PRD1 (1W8X), judged by programs of their own (prd1.py; needs numpy and h5py):
#   simulation  its 600 images at 101 x 101 pixels against `mtip simulate` (a minute)
#   mini        its 1,000 images of 41 x 41 pixels: `mtip reconstruct config/prd1_mini.yaml` from scratch, and
#               whether the map is better than its spherical average (10 minutes on two cores)
# Exit 77 without numpy, h5py or the data.  Usage: prd1.sh MTIP SOURCE_DIR simulation|mini [RUN_DIRECTORY]
# RUN_DIRECTORY: of an earlier run, which is judged instead.
mtip=$1 source=$2 part=$3 run=$4
data=${MTIP_SHARED_DATA:-$source/../shared/data}
mini=$data/dragonfly/prd1_mini
python3 -c 'import h5py, numpy' 2>/dev/null || { echo "skipped: no numpy or h5py for Python"; exit 77; }
[ -e "$mini/photons.emc" ] || { echo "skipped: no $mini"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
case $part in
simulation) python3 "$source/tests/prd1.py" simulation "$data" "$mtip" "$work" ;;
mini)
  if [ -z "$run" ]; then
    run=$work/run
    "$mtip" reconstruct "$source/config/prd1_mini.yaml" --set "data.file=$mini/photons.emc" \
      --set "geometry.file=$mini/det_sim.h5" --set "run.directory=$run" || exit 1
  fi
  python3 "$source/tests/prd1.py" mini "$data" "$run"
  ;;
*) echo "simulation or mini?" && exit 2 ;;
esac
