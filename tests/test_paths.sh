#!/bin/sh
# Names that shells, printf and YAML would take for something else, links, modes, and names that are too
# long.  Usage: test_paths.sh MTIP SOURCE_DIR
mtip=$1 source=$2
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
say() { echo "$*"; tail -n 5 out; failed=1; }
cat >a.yaml <<END
molecule: {file: $source/tests/data/2LYZ.pdb, b_factor: 30}
detector: {pixels: 12, pixel_size: 2, distance: 60, beam_stop: 2}
simulate: {images: 40, photons_per_image: 1e4}
grid: {size: 15, diameter: 45}
slice: {references: 40, final_references: 40}
phase: {starts: 2, generation_starts: 1, loops: 1, final_loops: 1, er: 3, hio: 3}
run: {generations: 2, final_generations: 1, attempts: 1}
END
# expect CODE TEXT ARGUMENT...
expect() {
  code=$1 text=$2
  shift 2
  "$mtip" "$@" >out 2>&1
  got=$?
  [ $got -eq "$code" ] && grep -qF -- "$text" out || say "mtip $*: exit code $got, expected $code and: $text"
}
umask 027
odd="a b'c\"d %s%n%d \$HOME; # : {x} [y] *\\"
mkdir "$odd"
cp a.yaml "$odd/a.yaml"
run="$odd/run %n" data="$odd/i m%s.h5"
expect 0 '' simulate "$odd/a.yaml" --set "simulate.output=$data"
expect 0 'images' check "$data"
for text in 'half-FSC(0.5)' 'is done already'; do
  expect 0 "$text" reconstruct "$odd/a.yaml" --set "data.file=$data" --set "run.directory=$run"
done
expect 0 'FSC(0.5)' evaluate "$run"
expect 0 'particle' check "$run/config.resolved.yaml"
expect 0 '' report "$run"
[ "$(find . -mindepth 1 -maxdepth 1 | wc -l)" -eq 3 ] || say "files beside the place that was named: $(ls)"
[ "$(stat -c %a "$run/density.mrc")" = 640 ] || say 'the mode is not what umask leaves'
cp "$data" images.h5

# Links: a directory's is followed, a lock's is not.
set -- reconstruct a.yaml --set data.file=images.h5
mkdir real work
ln -s real link
expect 0 'half-FSC(0.5)' "$@" --set run.directory=link
[ -L link ] && [ -e real/DONE ] || say 'the link to a directory is no more, or not followed'
expect 0 'now in link.1' "$@" --set run.directory=link --fresh
[ -e real/DONE ] || say 'what a link leads to is lost'
echo precious >victim
ln -s ../victim work/lock
expect 6 'work/lock' "$@" --set run.directory=work
[ "$(cat victim)" = precious ] || say 'written through a lock that is a link'

# Too long, for the file system or for a setting.
long=$(printf '%0300d' 1)
many=$(printf '%01800d' 1 | sed 's/.\{100\}/&\//g')
expect 6 'File name too long' "$@" --set "run.directory=$long"
expect 4 'File name too long' "$@" --set "data.file=$long"
expect 6 'File name too long' "$@" --set "run.directory=$many$many$long"
expect 2 'longer than 4095' "$@" --set "run.directory=$many$many$many"
exit $failed
