#!/bin/sh
# mtip simulate: the same file from any number of ranks and threads; failures by exit code and text.
# Usage: test_simulate.sh MTIP MPIRUN SOURCE_DIR
mtip=$1 mpirun=$2 source=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
cp "$source/tests/data/2LYZ.pdb" a.pdb
cat >a.yaml <<END
molecule:
  file: a.pdb
detector:
  pixels: 12
  distance: 20
simulate:
  images: 301
  photons_per_image: 200
  fluence_jitter: 0.3
END
say() { echo "$*"; failed=1; }
# expect CODE TEXT ARGUMENT...: mtip simulate a.yaml ARGUMENT... exits with CODE and says TEXT.
expect() {
  code=$1 text=$2
  shift 2
  "$mtip" simulate a.yaml "$@" >out 2>&1
  got=$?
  [ $got -eq "$code" ] && grep -qF -- "$text" out && return
  say "simulate $*: exit code $got, expected $code and: $text"
  cat out
}

expect 0 'photons: 200 per image'
mv images.h5 one.h5
for ranks in 2 3; do
  "$mpirun" --oversubscribe -n $ranks "$mtip" simulate a.yaml -q || say "failed on $ranks ranks"
  cmp images.h5 one.h5 || say "other bytes from $ranks ranks"
done
expect 0 'through NUFFTs' --set simulate.method=nufft --set parallel.backend=cpu
mv images.h5 nufft.h5
"$mpirun" --oversubscribe -n 3 "$mtip" simulate a.yaml -q --set simulate.method=nufft \
  --set parallel.backend=cpu || say 'failed through NUFFTs on 3 ranks'
cmp images.h5 nufft.h5 || say 'other bytes through NUFFTs on 3 ranks'
OMP_NUM_THREADS=2 expect 0 'a.pdb: 1001 atoms'
cmp images.h5 one.h5 || say 'other bytes from two threads'
expect 0 'images.h5: 5 images' --set simulate.images=5
"$mpirun" --oversubscribe -n 3 "$mtip" simulate a.yaml -q --set simulate.images=1 ||
  say 'failed with fewer images than ranks'
expect 0 'most images will be empty' --set simulate.photons_per_image=0.5
expect 0 'do not hold all of the particle' --set detector.distance=5


# What the settings alone decide is an error in them, with the limit.
expect 3 'beam.photons_per_pulse: it is 1e+20, which gives a pixel up to' \
  --set beam.photons_per_pulse=1e20 --set beam.focus_diameter=1e-3 \
  --set simulate.photons_per_image=0 --set detector.beam_stop=0
limit=$(sed -n 's/.*make it at most \(.*\)$/\1/p' out)
expect 0 'images.h5: 1 image in' --set beam.focus_diameter=1e-3 --set simulate.photons_per_image=0 \
  --set detector.beam_stop=0 --set simulate.images=1 --set beam.photons_per_pulse="$limit"
expect 3 'simulate.photons_per_image: it is 4e+11, which gives a pixel up to' \
  --set simulate.photons_per_image=4e11
expect 3 'simulate.photons_per_image: it is 1e+12 on 144 pixels' --set simulate.photons_per_image=1e12
expect 3 'parallel.threads: it is 4096, but this node has' --set parallel.threads=4096
expect 0 'images.h5: 5 images' --set simulate.images=5 --set detector.distance=1e5 \
  --set detector.pixel_size=1e-4 # |s| of 1e-10 1/A: still in the direct beam

"$mtip" simulate a.yaml -q --set simulate.images=1
cp images.h5 old.h5
expect 4 'none.pdb: cannot open: No such file' --set molecule.file=none.pdb
expect 6 "cannot write in directory 'none': No such file or directory; make it first" --set simulate.output=none/a.h5
expect 6 'is a directory' --set simulate.output=.
cmp images.h5 old.h5 || say 'a failure changed the old file'
[ -z "$(ls ./*.tmp.* 2>/dev/null)" ] || say 'temporary files left'

# Killed at any time, the file is the old one or the new one.
for delay in 0.02 0.05 0.08 0.11 0.14 0.17 0.2 0.25 0.3; do
  cp old.h5 images.h5
  timeout -s KILL $delay "$mtip" simulate a.yaml -q 2>/dev/null
  cmp -s images.h5 old.h5 || cmp -s images.h5 one.h5 || say "killed after $delay s: a broken file"
done
exit $failed
