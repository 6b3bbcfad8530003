#!/bin/sh
# Limits that a shell or a batch system sets (ulimit), and signals that end what has no checkpoint: an exit code
# and a message, no file half written.  Usage: test_limits.sh MTIP SOURCE_DIR
mtip=$1 source=$2
. "$(dirname "$0")/lib.sh"
small_config "$source" 'generations: 2, final_generations: 1, directory: run, deterministic: true' >a.yaml
echo 'parallel: {threads: 2}' >>a.yaml
# limited LIMIT CODE TEXT ARGUMENT...: under `ulimit LIMIT` mtip exits with CODE and says TEXT.
limited() {
  limit=$1 code=$2 text=$3
  shift 3
  # shellcheck disable=SC2086
  (ulimit $limit && exec timeout -s KILL 100 "$mtip" -q "$@") >out 2>&1
  got=$?
  [ $got -eq "$code" ] && grep -qF -- "$text" out && return
  say "ulimit $limit, $*: exit code $got, expected $code and: $text"
  head -n 5 out
}
no_leftovers() { # WHAT
  set -- "$1" ./*.tmp.* run/*.tmp.*
  [ "$2$3" = './*.tmp.*run/*.tmp.*' ] || say "$1 leaves $2 $3"
}
{ "$mtip" -q simulate a.yaml && "$mtip" -q reconstruct a.yaml; } >out 2>&1 ||
  { say 'cannot simulate or reconstruct'; cat out; }
"$mtip" report run >out && cp run/report.html page

# the size of a file
limited '-f 16' 6 'report.html: cannot write: File too large' report run
cmp page run/report.html || say 'the old page has changed'
limited '-f 16' 6 'File too large' convert images.h5 images.cxi
[ ! -e images.cxi ] || say 'half an images.cxi'
no_leftovers 'a file too large'

# addresses: OpenMP would end the program, and OpenBLAS never come to an end
# Enough for MPI to start, which needs more with CUDA's libraries, and too little for the threads.
space=250000
started=1
while [ $started -ne 0 ] && [ $space -lt 8000000 ]; do
  space=$((space + 250000))
  # shellcheck disable=SC3045
  (ulimit -v $space && "$mtip" info) >out 2>&1
  case $? in 0 | 5) started=0 ;; esac
done
limited "-v $((space + 250000))" 5 'the limit on it (ulimit -v) leaves' reconstruct a.yaml --set run.directory=small
grep -q 'ulimit -v' small/FAILED || say 'no FAILED'
# processor time: the run ends with a checkpoint
limited '-S -t 4' 85 'SIGXCPU was received' reconstruct a.yaml --set run.directory=long --set run.generations=100000

# A signal: nothing of what was being made is left.
"$mtip" -q simulate a.yaml --set simulate.output=many.h5 --set simulate.images=1000000 >out 2>&1 &
made=$!
for _ in $(seq 300); do
  [ ! -e "many.h5.tmp.$made" ] || break
  sleep 0.1
done
[ -e "many.h5.tmp.$made" ] || say 'simulate does not begin'
kill -TERM $made
wait $made
got=$?
[ $got -eq 143 ] && [ ! -e many.h5 ] || { say "simulate, SIGTERM: exit code $got"; cat out; }
timeout --preserve-status -s INT 2 "$mtip" -q simulate a.yaml --set simulate.output=many.h5 \
  --set simulate.images=1000000 >out 2>&1
got=$?
[ $got -eq 130 ] && [ ! -e many.h5 ] || { say "simulate, Ctrl-C: exit code $got"; cat out; }
no_leftovers 'a signal'
exit $failed
