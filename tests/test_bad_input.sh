#!/bin/sh
# Bad input and bad places for output: every failure with its exit code and a message that names the
# place and the cure, on one rank and on three; an old result stays as it was.
# Usage: test_bad_input.sh MTIP MPIRUN H5_TOOL SOURCE_DIR
mtip=$1 mpirun=$2 tool=$3 source=$4
if [ "$(id -u)" -eq 0 ] && [ -z "$MTIP_TEST_MOUNTS" ] &&
  unshare -m sh -c 'mount -t tmpfs -o size=1m none /mnt' 2>/dev/null; then
  MTIP_TEST_MOUNTS=1 exec unshare -m sh "$0" "$@" # mounts below are ours alone
fi
. "$(dirname "$0")/lib.sh"
trap 'cd /; umount "$work/disk" 2>/dev/null; rm -rf "$work"' EXIT
small_config "$source" 'generations: 2, final_generations: 1, directory: run' >a.yaml
# anew COMMAND: what older runs left is gone (a run that is done is not repeated).
anew() {
  [ "$1" != reconstruct ] || [ -n "$keep" ] || rm -rf run other
}
# expect CODE TEXT COMMAND ARGUMENT...: mtip exits with CODE and says TEXT.
check() {
  got=$?
  [ $got -eq "$code" ] && [ "$(grep -cF -- "$text" out)" -ge 1 ] && return
  say "$*: exit code $got, expected $code and: $text"
  head -n 8 out
}
expect() {
  code=$1 text=$2
  shift 2
  anew "$1"
  "$mtip" "$@" >out 2>&1
  check "$@"
}
# both: the same on one rank and on three, where the failure is printed once; what reconstruct says
# of its settings and data, check says too.
both() {
  expect "$@"
  code=$1 text=$2
  shift 2
  if [ "$1 $code" = 'reconstruct 3' ] || [ "$1 $code" = 'reconstruct 4' ]; then
    tail -n 1 out >said
    shift
    "$mtip" -q check "$@" 2>out >/dev/null
    check check "$@"
    tail -n 1 out | cmp -s - said || { say "check $*: not the words of reconstruct"; cat out said; }
    set -- reconstruct "$@"
  fi
  anew "$1"
  "$mpirun" --oversubscribe -n 3 "$mtip" "$@" >out 2>&1
  check 'on three ranks:' "$@"
  [ "$code" -eq 0 ] || [ "$(grep -cF -- "$text" out)" -eq 1 ] || say "said more than once: $text"
}
# config TEXT MESSAGE: a config of this text is refused with the place and the message.
config() {
  printf %b "$1" >b.yaml
  expect 3 "b.yaml:$2" reconstruct b.yaml
}
expect 0 'images.h5: 40 images' simulate a.yaml
expect 0 'converged' reconstruct a.yaml
cp -r run good

# Settings: the place, the value, the cure.
config 'grid:\n  sise: 41\n' '2:3: '
grep -qF "did you mean 'size'" out || say "no 'did you mean' for an unknown key"
config 'grdi:\n  size: 41\n' '1:1: '
config 'grid:\n  size: 41\n  size: 42\n' '3:3: '
config 'grid:\n  size: 12x8\n' "2:9: grid.size: '12x8'"
config 'grid:\n  diameter: nan\n' '2:13: grid.diameter'
config 'grid:\n  diameter: 1e999\n' '2:13: grid.diameter'
config 'grid:\n  size: 3\n' '2:9: grid.size'
config 'grid: [1, 2\n' ''
config '' '1:1: the config is empty'
config 'grid:\n  size: 41\n' ' data.file (not given) is required by reconstruct'
config 'data:\n  file: images.h5\n' ' grid.diameter (not given) is required by reconstruct'
expect 3 'none.yaml' reconstruct none.yaml
both 2 "did you mean 'size'" reconstruct a.yaml --set grid.sise=1
both 3 'a.yaml:5:8: grid.size is 17 voxels' reconstruct a.yaml --set grid.diameter=500

# Data sets that are not what they should be.
bad() { # [WHAT]: bad.h5 is the data set, damaged
  cp images.h5 bad.h5
  [ -z "$1" ] || "$tool" damage bad.h5 "$1" || say "cannot damage: $*"
}
bad_at() { # DATASET VALUE [FIRST COUNT]: the same, by a value in these places or all
  bad
  fill "$@"
}
fill() {
  "$tool" fill bad.h5 "$@" || say "cannot fill: $*"
}
reconstruct_bad="reconstruct a.yaml --set data.file=bad.h5 --set run.directory=other"
# shellcheck disable=SC2086
{
  head -c 20000 images.h5 >bad.h5
  both 4 'bad.h5: cannot open' $reconstruct_bad
  echo 'not HDF5 at all' >bad.h5
  both 4 'bad.h5: is not an HDF5 file' $reconstruct_bad
  rm bad.h5
  both 4 'bad.h5: cannot open: No such file' $reconstruct_bad
  bad_at /mask 0
  both 4 "'/mask' leaves no pixel to use; expected 1 = use" $reconstruct_bad
  bad positions
  both 4 "'/pixel_position_reciprocal' is (1, 5, 7, 3) float64; for images of 1 x 12 x 12 pixels" \
    $reconstruct_bad
  for value in nan -1 inf; do
    bad_at /intensities $value 1146 1
    both 4 'image 7 is the first; mend them, mask the pixel, or set data.strict: false' \
      $reconstruct_bad --set data.strict=true
    both 0 '39 images of 140 pixels (0 dark, 1 bad left out)' $reconstruct_bad
    both 4 '1 a NaN, infinite or negative pixel; more than data.max_bad_fraction = 0.01' \
      $reconstruct_bad --set data.max_bad_fraction=0.01
    expect 0 'bad' check bad.h5
  done
  bad_at /intensities 0 432 144
  fill /intensities 0 5616 144
  both 0 '38 images of 140 pixels (2 dark, 0 bad left out)' $reconstruct_bad
  grep -q '^3 \|^39 ' other/orientations.txt && say 'a dark image has an orientation'
  [ "$(grep -vc '^#' other/orientations.txt)" -eq 38 ] || say 'not 38 orientations'
  both 0 '38 images of 140 pixels (2 dark, 0 bad left out)' $reconstruct_bad \
    --set data.strict=true --set parallel.read=scatter
  bad truth
  both 3 'run.true_orientations: it is true, but bad.h5 holds no orientations; write false' \
    $reconstruct_bad --set run.true_orientations=true
  bad_at /orientations nan 29 1
  both 4 'quaternion 7 has length nan; expected 1' $reconstruct_bad --set run.true_orientations=true
  both 0 '40 images of 140 pixels' $reconstruct_bad
  bad_at /orientations 0 28 4
  both 4 'quaternion 7 has length 0; expected 1' $reconstruct_bad --set run.true_orientations=true

  # Pixels that tell nothing: one, all at one position, none where there is light.
  bad_at /mask 0
  fill /mask 1 5 1
  both 4 'bad.h5: all of the pixels to use (1 of 144) are at one position' $reconstruct_bad
  bad_at /pixel_position_reciprocal 1e9
  both 4 "attribute 'wavelength' is 2.69531 Angstrom, but the pixel positions lie on" $reconstruct_bad
  "$tool" damage bad.h5 wavelength || say 'cannot take the wavelength away'
  both 4 'bad.h5: all of the pixels to use (140 of 144) are at one position' $reconstruct_bad
  bad_at /intensities 0
  both 4 'bad.h5: 40 of 40 images have no photons' $reconstruct_bad
  both 4 'usable images: 1 of 1 from data.first = 39 on; the two halves need one each' \
    $reconstruct_bad --set data.file=images.h5 --set data.first=39

  # A mask of its own, on top of the one in the data.
  bad_at /mask 0
  both 4 'the masks leave none of the 144 pixels' reconstruct a.yaml --set data.mask_file=bad.h5
  both 4 'none.h5: cannot open' reconstruct a.yaml --set data.mask_file=none.h5
  both 0 'images of 140 pixels' reconstruct a.yaml --set data.mask_file=images.h5
  both 3 'data.first: it is 40, but images.h5 holds 40 images; lower it' reconstruct a.yaml --set data.first=40
  both 3 'data.images: it is 41, but images.h5 holds 40 images from data.first 0' reconstruct a.yaml --set data.images=41
}

# A run that fails leaves the results of the one before, and the settings beside them.
keep=1
rm -rf run
cp -r good run
rm run/DONE
bad_at /intensities 0
both 4 'have no photons' reconstruct a.yaml --set data.file=bad.h5
grep -q 'have no photons' run/FAILED || say 'a failed run leaves no word'
diff -r -x log.txt -x DONE -x FAILED good run || say 'a failed run has changed the results of the one before'

keep=

# Results that are damaged.
cp -r good spoilt
"$tool" fill spoilt/result.h5 /orientations nan 4 1 || say 'cannot fill'
expect 4 "spoilt: the run's orientation 1 is a quaternion of length nan, expected 1" evaluate spoilt
printf '\377\377\377\377' | dd of=spoilt/density.mrc bs=1 seek=1424 conv=notrunc 2>/dev/null
expect 4 'spoilt/density.mrc: voxel 100 is' evaluate spoilt

# Settings and data that would give a map of nothing.
config 'run: {final_generations: 0}\n' '1:26: run.final_generations'
config 'run: {generations: 1}\n' '1:20: run.generations'
config 'phase: {shrinkwrap_threshold: 0.9}\n' '1:31: phase.shrinkwrap_threshold'
config 'merge: {tolerance: 1}\n' '1:20: merge.tolerance'
expect 3 'nufft.upsampling: it is 1.25, which reaches 0.0001 at best' reconstruct a.yaml \
  --set nufft.upsampling=1.25 --set nufft.tolerance=1e-5
both 3 'grid.diameter: it is 3 A, smaller than the finest period' reconstruct a.yaml \
  --set grid.diameter=3
both 3 'where the images or the grid have nothing yet; make it at least' reconstruct a.yaml \
  --set run.resolution_start=0.01
both 0 '5 images are few' reconstruct a.yaml --set data.images=5
expect 5 'are free for it; use more ranks' reconstruct a.yaml --set grid.size=1024
both 3 'parallel.threads: it is 4096, but this node has' reconstruct a.yaml \
  --set parallel.threads=4096
cp images.h5 bad.h5
"$tool" damage bad.h5 same || say 'cannot make all images the same'
both 4 'bad.h5: all images are the same' reconstruct a.yaml --set data.file=bad.h5
cp images.h5 bad.h5
fill /intensities 1e9 858 1
both 0 '1 image with more than 1000 times the photons' reconstruct a.yaml --set data.file=bad.h5

# Two runs at once in one directory: the second one is told.
mkdir -p run
touch held
keep=1
printf 'host here\nprocess 7\njob 8\nstart now\n' >run/lock
(flock 9 && while [ -e held ]; do sleep 0.2; done) 9>>run/lock &
holder=$!
sleep 1
both 6 'another run works in run (host here, process 7, job 8, since now); wait for its end' \
  reconstruct a.yaml
rm held
wait $holder
keep=

# Places that cannot be written: a file in the way, a read-only file system.
echo old >file
both 6 'run directory file is a file, or a link to nothing; choose' reconstruct a.yaml \
  --set run.directory=file
both 6 'cannot make the run directory file/run: Not a directory' reconstruct a.yaml \
  --set run.directory=file/run
ln -s nowhere link
both 6 'run directory link is a file, or a link to nothing' reconstruct a.yaml \
  --set run.directory=link
both 6 'link: a symbolic link that leads nowhere' simulate a.yaml --set simulate.output=link
cp a.yaml kept.yaml
both 6 'a.yaml: exists and is no HDF5 file' simulate a.yaml --set simulate.output=a.yaml
cmp a.yaml kept.yaml || say 'simulate wrote over its config'
both 6 "cannot write in directory 'none'" simulate a.yaml --set simulate.output=none/a.h5
if [ -z "$MTIP_TEST_MOUNTS" ]; then
  echo 'skipped: full and read-only disks, which only root may mount'
  exit $failed
fi
mkdir disk
mount -t tmpfs -o ro none disk || say 'cannot mount'
both 6 'cannot make the run directory disk/run: Read-only file system' reconstruct a.yaml \
  --set run.directory=disk/run
both 6 'Read-only file system' reconstruct a.yaml --set run.directory=disk
both 6 "cannot write in directory 'disk'" simulate a.yaml --set simulate.output=disk/a.h5
umount disk

# full OLD COMMAND ARGUMENT...: runs on disks from full to large enough, where OLD lies already.
full() {
  old=$1
  shift
  n_full=0 n_written=0 free=0
  while [ $n_written -eq 0 ] && [ $free -lt 4000 ]; do
    mount -t tmpfs none disk
    cp -r "$old" disk/
    mount -o remount,size=$(($(du -sk disk | cut -f1) + free))k disk
    cp -r disk before
  rm -f before/*/status.json
    "$mtip" "$@" >out 2>&1
    got=$?
    if [ $got -eq 0 ]; then
      n_written=1
    elif [ $got -ne 6 ] || ! grep -q 'disk/.*No space left on device' out; then
      grep -q 'The results are whole' out || { say "$free KiB free: exit code $got"; head -n 8 out; }
    else
      n_full=$((n_full + 1))
      for file in log.txt status.json FAILED config.resolved.yaml about.txt left_out.txt history.txt; do
        rm -f before/*/$file disk/*/$file # of this run
      done
      diff -r before disk || say "$free KiB free: the old result has changed"
    fi
    rm -rf before
    umount disk
    free=$((free + 4 + free / 6))
  done
  [ $n_full -gt 4 ] && [ $n_written -eq 1 ] || say "$*: $n_full too full, $n_written written"
}
full images.h5 simulate a.yaml --set simulate.output=disk/images.h5 --set simulate.seed=2
rm good/DONE # a run that was killed before its last word
cp -r good run
full run reconstruct a.yaml --set run.directory=disk/run --set run.seed=2
exit $failed
