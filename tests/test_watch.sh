#!/bin/sh
# mtip watch and the progress bar: on a terminal (a pty of `script`) and without one, on runs that work, stop, are
# killed, are silent, and are done.
# Usage: test_watch.sh MTIP SOURCE_DIR
mtip=$1 source=$2
command -v script >/dev/null || { echo 'no script command for a pty'; exit 77; }
. "$(dirname "$0")/lib.sh"
run= # the process of a run that may be stopped
trap '[ -z "$run" ] || kill -9 "$run" 2>/dev/null; rm -rf "$work"' EXIT
small_config "$source" 'generations: 4, final_generations: 2, directory: run' >a.yaml
echo 'parallel: {backend: cpu, threads: 1}' >>a.yaml
# expect CODE TEXT COMMAND...
expect() {
  code=$1 text=$2
  shift 2
  "$@" >out 2>&1 </dev/null
  got=$?
  [ $got -eq "$code" ] && grep -qF -- "$text" out && return
  say "$*: exit code $got, expected $code and: $text"
  head -n 12 out
}
escape=$(printf '\033')
lacks_escapes() { ! grep -q "$escape" "$1" || say "$1 has escape sequences"; }
# A long run in the background, until it has had a generation.
begin() {
  rm -rf run
  "$mtip" reconstruct a.yaml --set run.generations=100000 >log 2>&1 &
  run=$!
  for _ in $(seq 300); do
    [ -s run/history.txt ] && return
    sleep 0.1
  done
  say 'the run does not begin'
}
end() {
  wait "$run" 2>/dev/null
  run=
}
"$mtip" -q simulate a.yaml || say 'no data'
expect 4 'cannot read nowhere' "$mtip" watch nowhere

# a run on a terminal has a bar, which is erased before lines; its log has none
rm -rf run
expect 0 '%' script -qec "'$mtip' reconstruct a.yaml" /dev/null
grep -q "$escape\[Kmtip: half=1 generation=1/" out || say 'no bar is erased before a line'
grep -q '####' out || say 'no bar'
lacks_escapes run/log.txt
! grep -q '####' run/log.txt || say 'the log has a bar'
"$mtip" reconstruct a.yaml --fresh >log 2>&1 || say "the run failed: $(cat log)"
lacks_escapes log

# small terminals, and one that does not say its size: nothing wraps, since what has wrapped cannot be erased
for size in '20 5 19' '0 0 79'; do
  # shellcheck disable=SC2086
  set -- $size
  expect 0 '[#' script -qec "stty cols $1 rows $2; '$mtip' reconstruct a.yaml --fresh" /dev/null
  tr '\r' '\n' <out | sed "s/^$escape\[K//" | grep '^\[[#.]' | awk -v most="$3" 'length > most' >wide
  [ ! -s wide ] || say "$1 columns: a bar is wider: $(cat wide)"
done
expect 0 "${escape}[H" script -qec "stty cols 20 rows 5; '$mtip' watch run" /dev/null
tr -d '\r' <out | sed "s/$escape\[[HJ]//g" >drawn
[ "$(wc -l <drawn)" -eq 4 ] && [ "$(awk 'length > 20' drawn)" = '' ] ||
  say "20 columns and 5 rows: $(cat drawn)"

# done: a summary where there is no terminal
"$mtip" watch run >out 2>&1 || say "watch of a run that is done: $?"
grep -q '^run: done; ' out && grep -q '^half 2, attempt 1, generation 4: ' out &&
  grep -q '^all images, attempt 1, generation 6: ' out && grep -q '  likelihood' out ||
  say "summary: $(cat out)"
lacks_escapes out
LC_ALL=C.UTF-8 "$mtip" watch run | grep -q '█' || say 'no curves where the terminal knows UTF-8'
LC_ALL=C "$mtip" watch run | grep -q '█' && say 'UTF-8 where the terminal does not know it'
mv run/about.txt about.txt
"$mtip" watch run | grep -qi 'nan' && say 'nan of a run without about.txt'
mv about.txt run/about.txt

# at work: on a terminal until it ends, with the code of its end; without one at once
begin
expect 0 'run: running; ' "$mtip" watch run
script -qec "sh -c 'echo \$\$ >pid; exec \"$mtip\" watch run'" /dev/null >out 2>&1 </dev/null &
viewer=$!
sleep 1
kill -INT "$(cat pid)"
wait $viewer || say "after Ctrl-C: exit code $?"
grep -q "${escape}\[H" out || say "nothing was drawn: $(cat out)"
(sleep 1 && touch run/STOP) &
expect 85 "${escape}[H" script -qec "'$mtip' watch run" /dev/null
end
expect 85 'run: stopped, to go on' "$mtip" watch run

# silent, and killed
begin
kill -STOP "$run"
touch -d '1 hour ago' run/*
expect 0 'SILENT for 36' "$mtip" watch run
kill -9 "$run"
end
expect 8 'it ended without a word' "$mtip" watch run
exit $failed
