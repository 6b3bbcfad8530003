#!/bin/sh
# mtip report on runs that are done, at work, stopped, failed and killed, and on directories of none: pages
# that are well-formed, whole and need nothing else; what the run has left for them.
# Usage: test_report.sh MTIP MPIRUN PAGE_TOOL SOURCE_DIR
mtip=$1 mpirun=$2 tool=$3 source=$4
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
say() { echo "$*"; failed=1; }
cat >a.yaml <<END
molecule: {file: $source/tests/data/2LYZ.pdb, b_factor: 30}
detector: {pixels: 12, pixel_size: 2, distance: 60, beam_stop: 2}
simulate: {images: 60, photons_per_image: 1e4, output: images.h5}
data: {file: images.h5, blacklist: list.txt}
grid: {size: 15, diameter: 45}
slice: {references: 120, final_references: 120}
phase: {starts: 2, generation_starts: 1, loops: 1, final_loops: 1, er: 5, hio: 5}
run: {generations: 4, final_generations: 2, attempts: 2, directory: run, deterministic: true}
END
# Two of 60 images are left out.
for i in $(seq 60); do [ "$i" -eq 7 ] || [ "$i" -eq 9 ] && echo 1 || echo 0; done >list.txt
sections='convergence resolution density intensity orientations samples frames time provenance citations'
# page DIRECTORY WORDS...: its page is good and holds the words.
page() {
  directory=$1
  shift
  "$mtip" report "$directory" >said 2>err || say "$directory: no report: $(cat err)"
  [ "$(cat said)" = "$directory/report.html" ] || say "$directory: does not say where: $(cat said)"
  # shellcheck disable=SC2086
  "$tool" "$directory/report.html" $sections || say "$directory: the page is not good"
  for words in "$@"; do
    grep -q -- "$words" "$directory/report.html" || say "$directory: the page does not say: $words"
  done
}
# refused DIRECTORY WORDS [CODE [OPTION...]]
refused() {
  directory=$1 words=$2 code=${3:-4}
  shift $(($# < 3 ? $# : 3))
  "$mtip" report "$directory" "$@" >said 2>err
  got=$?
  [ $got -eq "$code" ] || say "$directory: exit code $got, expected $code: $(cat err)"
  grep -q -- "$words" err || say "$directory: does not say '$words': $(cat err)"
}
go() { "$mpirun" --oversubscribe --bind-to none -n "$1" "$mtip" -q reconstruct a.yaml >out 2>&1; }

"$mtip" -q simulate a.yaml --set data.blacklist= 2>/dev/null || say 'cannot simulate'

# At work: the lock is this shell's, which lives.
mkdir -p run
touch run/STOP
go 2
[ $? -eq 85 ] || say "no early end: $(cat out)"
page run 'Stopped early' 'STOP was found'
grep -q 'http-equiv="refresh"' run/report.html && say 'a run that is stopped: a page that loads itself'
printf 'host %s\nprocess %d\njob none\nstart now\n' "$(uname -n)" $$ >run/lock
page run 'Running' 'http-equiv="refresh"'
mv run/checkpoint.h5 away.h5
printf '{"generations": 3, "of": 4, "final": false, "seconds_left": 42.1}\n' >run/status.json
page run 'generation 3 of 4, about 1 minute left' 'no checkpoint yet' 'edge of the data'
mv away.h5 run/checkpoint.h5
rm run/report.html
timeout 3 "$mtip" report run --follow >said 2>err
[ $? -eq 124 ] && [ -s run/report.html ] || say '--follow: does not stay, or writes nothing'
printf 'host %s\nprocess %d\njob none\nstart now\n' "$(uname -n)" 999999999 >run/lock
page run 'Ended without a word'
rm run/lock

# With a checkpoint of all images.
"$mpirun" --oversubscribe --bind-to none -n 2 "$mtip" -q reconstruct a.yaml \
  --set run.checkpoint_generations=1 --set run.directory=kept >out 2>&1 &
run=$!
while kill -0 $run 2>/dev/null && ! grep -q '^[12] 2 5' kept/history.txt 2>/dev/null; do
  [ -s kept/checkpoint.h5 ] && cp kept/checkpoint.h5 newest 2>/dev/null
  sleep 0.05
done
wait $run
if [ -s newest ]; then
  mkdir half && cp kept/log.txt kept/about.txt kept/left_out.txt kept/config.resolved.yaml half/
  cp newest half/checkpoint.h5
  echo 'cannot go on: <&"> of node 7' >half/FAILED
  page half 'Failed' 'cannot go on: &lt;&amp;&quot;&gt; of node 7' 'the last checkpoint' 'best slice'
  head -c 3000 newest >half/checkpoint.h5
  page half 'No checkpoint can be read'
fi

# Done, on one rank and two: history of both halves, transfer function, left out images.
go 2 || say "cannot reconstruct: $(cat out)"
page run 'onverged. Two halves\|NOT converged' 'half 1' 'half 2' 'all images' 'best slice' '6 blacklisted' \
  '8 blacklisted' 'mtip 0' 'CPU'
timeout 60 "$mtip" report run --follow >/dev/null || say '--follow: does not end with the run'
"$mtip" -q evaluate run >/dev/null || say 'cannot evaluate'
page run '>truth<' 'against the truth'
[ "$(grep -vc '^#' run/prtf.txt)" -eq 8 ] || say 'no 8 shells in prtf.txt'
awk '!/^#/ && !($5 >= 0 && $5 <= 1.000001) { bad = 1 } END { exit bad }' run/prtf.txt ||
  say 'prtf.txt: not within 0 and 1'
go 1 --fresh

# Without its data, in another place, to another file.
mv images.h5 away.h5
page run 'cannot be read' 'There are none to show'
"$mtip" report run --output 'a page.html' >/dev/null && "$tool" 'a page.html' || say 'another file'
"$mtip" report run --output - >stdout.html && cmp stdout.html run/report.html || say 'standard output'
mv away.h5 images.h5
refused run 'give --output a file' 2 --follow --output -

# No run, a file, a foreign directory, damage, no room.
refused nowhere 'cannot read nowhere'
refused a.yaml 'is a file'
mkdir foreign && echo hello >foreign/log.txt
refused foreign 'is no directory of a run'
"$mtip" report run --output nowhere/page.html >/dev/null 2>&1
[ $? -eq 6 ] || say 'no exit code 6 for a page that cannot be written'
"$mtip" report >/dev/null 2>&1
[ $? -eq 2 ] || say 'no exit code 2 without a directory'
for file in result.h5 density.mrc; do
  cp run/$file whole
  head -c -30 whole >run/$file
  refused run "run/$file"
  cp whole run/$file
done
# A table that is damaged: the page is without its plot, and says so.
while read -r file plot; do
  cp "run/$file" whole
  head -c -30 whole >"run/$file"
  page run "There is no plot of .* file: run/$file:[0-9]*: expected"
  grep -q ">$plot<" run/report.html && say "$file: its plot is there"
  cp whole "run/$file"
done <<END
history.txt R factor of phasing
fsc.txt Fourier shell correlation
prtf.txt Phase retrieval transfer function
END
page run 'onverged' '>R factor of phasing<' '>Fourier shell correlation<' \
  '>Phase retrieval transfer function<'
grep -q 'There is no plot' run/report.html && say 'a note on whole files'
exit $failed
