#!/bin/sh
# Runs that end early and go on: signals, files, time limits, other numbers of ranks, damaged
# checkpoints, other settings, two at once. The results are those of a run left alone, bit for bit.
# Usage: test_resume.sh MTIP MPIRUN H5_TOOL SOURCE_DIR
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
data: {file: images.h5}
grid: {size: 15, diameter: 45}
slice: {references: 120, final_references: 120}
phase: {starts: 2, generation_starts: 1, loops: 1, final_loops: 1, er: 5, hio: 5}
run: {generations: 4, final_generations: 2, attempts: 2, directory: run, deterministic: true}
END
# go RANKS OPTION...: reconstructs, exit code in $got.
go() {
  ranks=$1
  shift
  "$mpirun" --oversubscribe --bind-to none -n "$ranks" "$mtip" reconstruct a.yaml "$@" >out 2>&1
  got=$?
}
# expect CODE TEXT WHAT: of the last go.
expect() {
  [ $got -eq "$1" ] && grep -q -- "$2" out && return
  say "$3: exit code $got, expected $1 and: $2"
  tail -n 5 out
}
same() { # WHAT [ALONE]: the results are those of the run left alone
  alone=${2:-alone}
  for file in density.mrc density_half1.mrc density_half2.mrc fsc.txt orientations.txt; do
    cmp "$alone/$file" "run/$file" || say "$1: $file differs"
  done
  "$tool" same "$alone/result.h5" run/result.h5 /density /density_half1 /density_half2 \
    /autocorrelation /orientations /fluences /scores /fsc/value /history || say "$1: result.h5"
}
"$mtip" simulate -q a.yaml || say 'cannot simulate'
go 2 --set run.directory=alone
expect 0 'alone .*converged' 'a run left alone'
[ -e alone/DONE ] && grep -q '"state": "done"' alone/status.json || say 'no DONE, or no status'
[ ! -e alone/checkpoint.h5 ] && [ ! -e alone/lock ] || say 'a run that is done leaves its tools'

# Done is done; other settings are refused; --fresh makes room.
go 2 --set run.directory=alone
expect 0 'alone is done already' 'done'
go 2 --set run.directory=alone --set run.seed=2 --set phase.beta=0.8
expect 3 'alone was made with other settings: phase.beta, run.seed changed' 'other settings'

# So are other images under the same name, whether they are older or not; none are no other ones.
cp -p images.h5 kept.h5
"$mtip" simulate -q a.yaml --set simulate.seed=2
touch -r kept.h5 images.h5
go 2 --set run.directory=alone
expect 3 'alone was made from other images than those of images.h5 now' 'other images'
rm images.h5
go 2 --set run.directory=alone
expect 0 'alone is done already' 'without the images'
mv kept.h5 images.h5

# What --fresh would begin in vain leaves the old run as it is.
before=$(ls -l alone && cat alone/log.txt)
go 2 --set run.directory=alone --fresh --set data.file=none.h5
expect 4 'none.h5' 'fresh, without images'
go 2 --set run.directory=alone --fresh --set grid.size=8
expect 3 'grid.size' 'fresh, with a bad setting'
[ "$(ls -l alone && cat alone/log.txt)" = "$before" ] && [ ! -e alone.1 ] ||
  say '--fresh has touched the old run before it was refused'

# A STOP file ends it at once, with a checkpoint; 4 ranks, then 2, then 3.
mkdir run
touch run/STOP
go 4
expect 85 'the file STOP was found; run/checkpoint.h5 is good' 'STOP'
grep -q 'STOP' run/STOPPED && grep -q '"state": "stopped"' run/status.json || say 'STOPPED: no word'
head -n 1 run/checkpoint.h5 | grep -q 'mtip checkpoint, format 2' || say 'the checkpoint has no head'
for ranks in 2 3 1; do
  "$mpirun" --oversubscribe --bind-to none -n $ranks "$mtip" reconstruct a.yaml \
    --set run.checkpoint_generations=1 >out 2>&1 &
  run=$!
  before=$(cksum run/checkpoint.h5)
  while [ "$(cksum run/checkpoint.h5 2>/dev/null)" = "$before" ] && kill -0 $run 2>/dev/null; do
    sleep 0.02
  done
  touch run/STOP
  wait $run
  got=$?
  [ $got -eq 0 ] && break
  expect 85 'is good: the same command goes on' "on $ranks ranks"
  grep -q "going on from the checkpoint" out || say "on $ranks ranks: from the beginning?"
done
rm -f run/STOP
go 3 --set parallel.threads=1 --time-limit 300 # what was done before takes no time
expect 0 'run .*converged' 'to the end'
same '4, 2, 3, 1 and 3 ranks'

# A stop in the final phasing, which is then done anew by a run that has had no generation.
long='--set phase.final_loops=8000'
# shellcheck disable=SC2086
go 2 $long --set run.directory=long
rm -rf run out
# shellcheck disable=SC2086
"$mpirun" --oversubscribe --bind-to none -n 2 "$mtip" reconstruct a.yaml $long >out 2>&1 &
run=$!
until grep -qs 'all generation=6/6' out || ! kill -0 $run; do sleep 0.02; done
touch run/STOP
wait $run
got=$?
expect 85 'the same command goes on' 'a stop in the final phasing'
rm -f run/STOP
# shellcheck disable=SC2086
go 3 $long
expect 0 'going on from the checkpoint' 'the final phasing anew'
same 'a stop in the final phasing' long

# Signals, to one rank or to the launcher.
for signal in TERM USR1 USR2 URG INT; do
  rm -rf run out
  "$mpirun" --oversubscribe --bind-to none -n 2 "$mtip" reconstruct a.yaml --time-limit 60 \
    --set run.generations=100000 >out 2>&1 &
  run=$!
  until grep -qs 'generation=2/' out || ! kill -0 $run; do sleep 0.05; done
  kill -$signal "$(pgrep -P $run -x mtip | tail -n 1)"
  wait $run
  got=$?
  expect 85 "rank 1.*SIG$signal was received; run/checkpoint.h5 is good" "SIG$signal"
done

# A second signal ends it at once, whatever it does.
rm -rf run out
"$mtip" reconstruct a.yaml --time-limit 60 --set run.generations=100000 --set phase.er=1000000 \
  --set run.directory=twice >out 2>&1 &
run=$!
until [ -e twice/lock ] || ! kill -0 $run; do sleep 0.05; done
sleep 1
kill -TERM $run
sleep 1.5
kill -TERM $run
wait $run
got=$?
[ $got -eq 143 ] || say "a second signal: exit code $got, expected 143"

# Time limits: the program's own and Slurm's.
rm -rf run
go 2 --set run.generations=100000 --time-limit 4
expect 85 'the time limit is near; run/checkpoint.h5 is good' 'time limit'
mkdir bin
# shellcheck disable=SC2016
printf '#!/bin/sh\n[ "$3" = 77 ] && echo 0:04\n[ "$3" = 70_3 ] && echo 0:05\n' >bin/squeue
chmod +x bin/squeue
rm -rf run
PATH=$work/bin:$PATH SLURM_JOB_ID=77 SLURM_ARRAY_JOB_ID=70 SLURM_ARRAY_TASK_ID=3 \
  "$mtip" reconstruct a.yaml --set run.generations=100000 >out 2>&1
got=$?
expect 85 'the batch system gives this job 5 s more' "Slurm's limit on a task of an array"
rm -rf run
PATH=$work/bin:$PATH SLURM_JOB_ID=77 "$mtip" reconstruct a.yaml --set run.generations=100000 >out 2>&1
got=$?
expect 85 'the batch system gives this job 4 s more' "Slurm's limit"
grep -q 'Slurm job 77, restart 0' run/log.txt || say 'the log does not name the job'
go 1 --time-limit soon
expect 2 "--time-limit is 'soon'" 'a bad limit'

# Settings and data of a checkpoint.
cp run/config.resolved.yaml before.yaml
go 2
expect 3 'run/checkpoint.h5 was made with other settings: run.generations changed' 'other settings'
"$mtip" simulate -q a.yaml --set simulate.seed=2 --set simulate.output=other.h5
go 2 --set run.generations=100000 --set data.file=other.h5
expect 3 'was made from other images than those of other.h5' 'other data'
cmp -s run/config.resolved.yaml before.yaml || say 'a refused run changed the settings on record'
go 2 --fresh
expect 0 'the old run is now in run.1' 'fresh'
same 'fresh'
[ -e run.1/checkpoint.h5 ] || say 'fresh has lost the old run'
grep -q 'images of .* pixels' run/log.txt || say 'fresh has lost the beginning of its log'

# Two at once: the second is told; a lock of a process that is no more, or of the same job, is not in
# the way; one of another host is, while it is fresh.
for lock in "$(uname -n) 999999999 none" 'elsewhere 5 77'; do
  # shellcheck disable=SC2086
  set -- $lock
  printf 'host %s\nprocess %s\njob %s\nstart then\n' "$1" "$2" "$3" >run/lock
  SLURM_JOB_ID=77 SLURM_JOB_END_TIME=9999999999 go 1
  expect 0 'ended without a word' "a lock of $lock"
  printf 'host elsewhere\nprocess 5\njob 78\nstart then\n' >run/lock
done
go 1
expect 6 'another run works in run (host elsewhere, process 5, job 78, since then)' 'a fresh lock'
touch -d '10 minutes ago' run/lock
go 1
expect 0 'ended without a word' 'an old lock'
exit $failed
