#!/bin/sh
# Jobs under a real Slurm of three nodes on this machine (tests/slurm/cluster.sh): what srun makes of
# exit codes, scripts of mtip jobscript through time limits, signals, nodes that die, ranks that hang.
# Prints a table of what was seen, ends with the number of failures. Exit code 77 where Slurm's daemons
# are not installed (Debian: slurmctld slurmd slurm-client slurm-wlm-basic-plugins libpmix2), or not root.
# Usage: slurm.sh MTIP [SCENARIO]...    all of them, which takes about 15 minutes, if none is named
mtip=$(realpath "$1") source=$(realpath "$(dirname "$0")/..")
shift
cluster_here=$source/tests/slurm
# shellcheck source=tests/slurm/cluster.sh
. "$cluster_here/cluster.sh"
if ! cluster_there; then
  echo 'no Slurm here, or not root: jobs are not tested'
  exit 77
fi
work=$(mktemp -d) || exit 1
trap 'cluster_stop; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
mkdir "$work/cluster" "$work/jobs"
cd "$work/jobs" || exit 1
export MTIP="$mtip" OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo # its nodes share one host's memory
failed=0 change=
fail() { echo "FAILED $scenario: $*"; failed=$((failed + 1)); }
saw() { printf '| %s | %s | %d |\n' "$scenario" "$*" $(($(date +%s) - begin)); }

# A run of GENERATIONS in DIRECTORY, alike for any number of ranks, with a checkpoint after each generation.
settings() { # NAME GENERATIONS
  cat >"$1.yaml" <<END
molecule: {file: $source/tests/data/2LYZ.pdb, b_factor: 30}
detector: {pixels: 12, pixel_size: 2, distance: 60, beam_stop: 2}
simulate: {images: 60, photons_per_image: 1e4, output: images.h5}
data: {file: images.h5}
grid: {size: 15, diameter: 45}
slice: {references: 120, final_references: 120}
phase: {starts: 2, generation_starts: 1, loops: 1, final_loops: 1, er: 50, hio: 50}
run: {generations: $2, final_generations: 1, attempts: 1, directory: $1, deterministic: true,
      checkpoint_generations: 1, hang_timeout: 30}
parallel: {threads: 1}
END
}
# submit NAME OPTION...: a job with 2 ranks a node for NAME.yaml, its script put through sed where $change
# says so; $job and its $log
submit() {
  name=$1
  shift
  "$mtip" -q jobscript --system slurm --cores 4 --memory 3 --ranks 2 --output "$name.sh" "$@" \
    "$name.yaml" 2>/dev/null || fail "mtip jobscript $*"
  [ -z "$change" ] || sed -i "$change" "$name.sh"
  job=$(sbatch --parsable "$name.sh")
  log=mtip-$job.log
}
state() { scontrol show job "$job" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p'; }
field() { scontrol show job "$job" | sed -n "s/.*[ ]$1=\([^ ]*\).*/\1/p"; }
# Until a command succeeds; fails after SECONDS.
until_seen() { # SECONDS COMMAND...
  limit=$(($(date +%s) + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    if [ "$(date +%s)" -ge $limit ]; then
      fail "waited too long for: $*"
      tail -n 20 "$log" >&2
      return 1
    fi
    sleep 0.2
  done
}
is_over() { case $(state) in COMPLETED | FAILED | TIMEOUT | CANCELLED | NODE_FAIL | OUT_OF_MEMORY) ;; *) false ;; esac; }
ends() { # SECONDS: the job is done, with results that are those of a run left alone
  until_seen "$1" is_over || return 1
  [ "$(state)" = COMPLETED ] && [ -e "$name/DONE" ] || { fail "the job is $(state)"; tail -n 20 "$log"; return 1; }
  alone "$(sed -n 's/.*generations: \([0-9]*\), final.*/\1/p' "$name.yaml")"
  cmp "$name/density.mrc" "alone$generations/density.mrc" && cmp "$name/fsc.txt" "alone$generations/fsc.txt" ||
    fail 'other results than of a run left alone'
}
alone() { # GENERATIONS
  generations=$1
  [ ! -e "alone$1/DONE" ] || return 0
  settings "alone$1" "$1"
  "$mtip" -q reconstruct "alone$1.yaml" >/dev/null 2>&1 || fail 'a run left alone'
}
process() { # NODE RANK: of mtip in a job step
  for pid in $(pgrep -x "$(basename "$mtip")"); do
    cluster_has "$pid" "SLURMD_NODENAME=$1" && cluster_has "$pid" "SLURM_PROCID=$2" && echo "$pid"
  done
}
restarts() { grep -o 'Slurm job [0-9]*, restart [0-9]*, on [^ ]*' "$name/log.txt" | sed 's/Slurm job [0-9]*, //' | uniq | paste -sd ';'; }

# -- scenarios --

run_srun() {
  srun -N2 -n4 --mpi=pmix --gpus-per-node=2 "$mtip" info >out 2>&1 || fail "info: $?"
  [ "$(grep -cE '^ +[01] +n0 +[01] |^ +[23] +n1 +[01] ' out)" -ge 3 ] || { fail 'not two nodes'; tail -n 5 out; }
  saw "$(grep -cE '^ +[0-3] +n[0-2] ' out) ranks of one MPI world on nodes n0 and n1, by the names of Slurm"
}

run_codes() {
  seen=
  settings codes 2
  expect() { # CODE WHAT COMMAND...: on 2 ranks
    code=$1 what=$2
    shift 2
    srun -n2 --mpi=pmix "$mtip" -q "$@" >out 2>&1
    got=$?
    [ $got -eq "$code" ] || { fail "$what: $got, expected $code"; tail -n 5 out; }
    seen="$seen, $got $what"
  }
  mkdir codes
  expect 0 fine info
  expect 2 'an option' reconstruct codes.yaml --fehs
  expect 3 'a setting' reconstruct codes.yaml --set grid.diameter=1000
  expect 4 'no data' reconstruct codes.yaml --set data.file=none.h5
  expect 5 'no GPU' reconstruct codes.yaml --set parallel.backend=cuda --set run.deterministic=false
  expect 6 'the directory' reconstruct codes.yaml --set run.directory=images.h5
  touch codes/STOP
  expect 85 'stopped' reconstruct codes.yaml
  expect 0 'the same again' reconstruct codes.yaml
  saw "srun's exit codes:${seen#,}"
}

# Without a PMI that MPI knows each task is alone.  Debian's MPI then ends with an error of its own; one
# that does not is imitated by hiding Slurm from it.
run_pmi() {
  # shellcheck disable=SC2016
  srun -n3 --mpi=none sh -c 'exec env -i PATH="$PATH" SLURM_STEP_NUM_TASKS="$SLURM_STEP_NUM_TASKS" \
    ASAN_OPTIONS="$ASAN_OPTIONS" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$MTIP" info' >out 2>&1
  got=$?
  [ $got -eq 5 ] && grep -q 'use srun --mpi=pmix' out || { fail "exit code $got"; tail -n 5 out; }
  saw "3 tasks, each alone in MPI: exit code $got, \"$(grep -o 'srun started 3 tasks.*pmix' out | head -n 1)\""
}

run_sbatch() {
  settings sbatch 4
  submit sbatch -N 2
  ends 200
  grep -q 'ranks: 4,' sbatch/log.txt || fail 'not 4 ranks'
  saw "2 nodes x 2 ranks: $(state) on $(field NodeList), the bits of a run left alone"
}

run_signal() {
  settings signal 30
  submit signal -N 2
  until_seen 100 grep -q 'generation=3/' signal/log.txt
  scancel --signal=USR1 "$job"
  ends 300
  grep -q '^exit code 85: queued again' "$log" && grep -q 'SIGUSR1 was received' "$log" || fail 'no 85'
  grep -q 'going on from the checkpoint' signal/log.txt || fail 'from the beginning'
  [ "$(field Restarts)" -eq 1 ] || fail "$(field Restarts) restarts"
  saw "USR1: exit code 85, queued again; $(restarts); the bits of a run left alone"
}

# Generations that two nodes need this long for: $generations.  A hundred are timed, beside which a start is short.
last_for() { # SECONDS
  settings pace 100
  start=$(date +%s)
  srun -N2 -n4 --mpi=pmix "$mtip" -q reconstruct pace.yaml >out 2>&1 || fail 'a run that is timed'
  rm -r pace
  generations=$((100 * $1 / ($(date +%s) - start)))
}

# Slurm looks at its clock about once in a minute: its signal may come so much earlier.
run_limit() {
  last_for 250
  settings limit $generations
  submit limit -N 2 --time 2:00
  ends 600
  [ "$(field Restarts)" -ge 1 ] || fail "$(field Restarts) restarts"
  saw "limit 2 min: $(grep -oE 'SIGUSR1 was received|the time limit is near' "$log" | sort | uniq -c | xargs), \
exit code 85, queued again; $(restarts); the bits of a run left alone"
}

# Without Slurm's signal: the run asks Slurm how much time it has.
run_clock() {
  last_for 150
  settings clock $generations
  change='/--signal/d'
  submit clock -N 2 --time 60
  change=
  ends 600
  [ "$(field Restarts)" -ge 1 ] && grep -q 'the time limit is near' "$log" || fail "$(field Restarts) restarts"
  saw "limit 1 min, no signal: $(grep -oE 'the batch system gives this job [0-9]* s|the time limit is near' "$log" |
    head -n 2 | paste -sd ';'), exit code 85, queued again; $(restarts); the bits of a run left alone"
}

# dies NODE: of a job on n0 and n1
dies() {
  victim=$1
  settings "death_$victim" 80
  submit "death_$victim" -N 2
  until_seen 100 grep -q 'generation=3/' "$name/log.txt"
  cluster_kill "$victim"
  killed=$(date +%s)
  until_seen 200 sh -c "scontrol show job $job | grep -q 'Restarts=1'"
  noticed=$(($(date +%s) - killed))
  ends 300
  grep -q 'going on from the checkpoint' "$name/log.txt" || fail 'from the beginning'
  saw "slurmd, its steps and ranks on $victim killed: queued again after $noticed s; $(restarts); the bits of a run left alone"
  cluster_boot "$victim"
  cluster_wait 3
}
run_death_second() { dies n1; }
run_death_first() { dies n0; }

run_hang() {
  settings hang 60
  submit hang -N 2
  until_seen 100 grep -q 'generation=3/' hang/log.txt
  kill -STOP "$(process n1 3)"
  ends 300
  grep -q 'node fault: n1' "$log" || fail 'no node is named'
  grep -q '^exit code 8: queued again' "$log" || fail 'no exit code 8'
  [ "$(field ExcNodeList)" = n1 ] || fail "excluded: $(field ExcNodeList)"
  saw "a rank on n1 stopped: exit code 8, \"node fault: n1\", queued again without $(field ExcNodeList); $(restarts); \
the bits of a run left alone"
}

run_requeue() {
  settings requeue 60
  submit requeue -N 2
  until_seen 100 grep -q 'generation=3/' requeue/log.txt
  scontrol requeue "$job"
  ends 300
  saw "scontrol requeue: $(restarts); the bits of a run left alone"
}

run_memory() {
  settings memory 30
  change='s/--mem=.*/--mem=40M/'
  submit memory -N 2
  change=
  until_seen 200 is_over
  [ "$(state)" != COMPLETED ] && [ "$(field Restarts)" -eq 0 ] || fail "$(state), $(field Restarts) restarts"
  killed="$(state), $(grep -oE 'exceeded [a-z]* *memory limit' "$log" | head -n 1)"
  job=$(sbatch --parsable --mem=3G memory.sh)
  log=mtip-$job.log
  ends 300
  grep -q 'ended without a word' "$log" || fail 'the next start says nothing'
  saw "40 MB for a node: $killed, not queued again; then with 3 GB: \"ended without a word\", the bits of a run left alone"
}

# The last task is asked to end: it alone is queued again.
run_array() {
  settings array 30
  submit array --array 1-3 -N 1
  first=$job
  until_seen 100 grep -qs 'generation=3/' array/seed3/log.txt
  scancel --signal=USR1 "${first}_3"
  for i in 1 2 3; do
    job=${first}_$i log=array/seed$i/log.txt
    until_seen 300 is_over
    [ "$(state)" = COMPLETED ] && grep -q "seed: $i\$\|seed: $i " "array/seed$i/config.resolved.yaml" ||
      fail "task $i is $(state)"
    [ "$(field Restarts)" -eq $((i == 3)) ] || fail "task $i: $(field Restarts) restarts"
  done
  if cmp -s array/seed1/density.mrc array/seed2/density.mrc; then fail 'one result for two seeds'; fi
  saw "array 1-3: $(find array -name DONE | wc -l) runs done, each with its seed and directory; task 3 was sent USR1 \
and alone was queued again"
}

# Exit code 85 without a requeue: asked to end by the user, or no time for a generation.
run_enough() {
  settings stop 3000
  submit stop -N 1
  until_seen 100 grep -qs 'generation=2/' stop/log.txt
  touch stop/STOP
  until_seen 60 is_over
  seen="$(state), $(field ExitCode), $(field Restarts) restarts, \"$(tail -n 1 "$log")\""
  [ "$(state)" = FAILED ] && grep -q '^stopped by a file STOP: not queued again' "$log" || fail "$seen"
  settings short 3000
  submit short -N 1 --set phase.loops=1000
  until_seen 100 grep -qs 'memory of a rank' short/log.txt
  scancel --signal=USR1 "$job"
  until_seen 60 is_over
  [ "$(state)" = FAILED ] && grep -q '^no generation was finished: not queued again' "$log" || fail "$(state)"
  saw "a file STOP: $seen; USR1 within the first generation: \"$(tail -n 1 "$log")\""
}

# With a stand-in for the daemon, which says where it runs and when it ends.
run_mps() {
  mkdir -p bin
  cat >bin/nvidia-cuda-mps-control <<'END'
#!/bin/sh
if [ "$1" != -f ]; then
  read -r word && touch "$CUDA_MPS_PIPE_DIRECTORY/$word.$SLURMD_NODENAME"
  exit
fi
echo "begin $SLURMD_NODENAME $CUDA_MPS_PIPE_DIRECTORY $CUDA_VISIBLE_DEVICES" >>mps.log
until [ -e "$CUDA_MPS_PIPE_DIRECTORY/quit.$SLURMD_NODENAME" ]; do sleep 0.1; done
echo "end $SLURMD_NODENAME" >>mps.log
END
  chmod +x bin/nvidia-cuda-mps-control
  settings mps 4
  PATH=$work/jobs/bin:$PATH submit mps -N 2 --gpus 1 --mps
  ends 200
  [ "$(grep -c "^begin n[01] /tmp/mtip-mps-$job 0\$" mps.log)" -eq 2 ] || fail "$(cat mps.log)"
  [ "$(grep -c '^end n[01]' mps.log)" -eq 2 ] || fail 'daemons do not end'
  rm -rf "/tmp/mtip-mps-$job"
  saw "a daemon on each of $(field NodeList) while the ranks run, which quits after them"
}

run_scaling() {
  BENCH='--backend cpu --threads 1 --size 21 --pixels 16 --images 40 --references 50 --merged 60 --cg 5
    --loops 1 --repeat 1 --tolerance 1e-6'
  export BENCH
  for mode in weak strong; do
    sh "$source/jobs/scaling.sh" submit $mode ladder '1 2 3' --system slurm --cores 4 --ranks 2 >out 2>&1 ||
      { fail 'submitting'; cat out; }
    for n in 1 2 3; do until_seen 200 test -s ladder/$mode-$n.csv; done
    sh "$source/jobs/scaling.sh" collect $mode ladder >out 2>&1 || { fail 'collecting'; cat out; }
    [ "$(cut -d, -f1 ladder/$mode.csv | paste -sd ' ')" = 'ranks 2 4 6' ] && [ -s ladder/$mode.svg ] ||
      fail 'the table'
  done
  saw 'jobs of 1, 2, 3 nodes submitted, weak and strong; their rows in one table and plot each'
}

# -- all of it --

[ $# -gt 0 ] || set -- srun codes pmi sbatch array enough memory mps scaling signal requeue hang death_second death_first limit clock
scenario=setup begin=$(date +%s)
cluster_start "$work/cluster" || { fail 'Slurm does not start'; tail -n 5 "$work"/cluster/*.out; exit 1; }
settings data 2
"$mtip" -q simulate data.yaml 2>/dev/null || fail 'cannot simulate'
echo '| scenario | what was seen | s |'
echo '| --- | --- | --- |'
for scenario; do
  begin=$(date +%s)
  "run_$scenario"
done
echo "$failed failures"
[ $failed -eq 0 ]
