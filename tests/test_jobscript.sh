#!/bin/sh
# Job scripts: those of jobs/ are what the program writes, all of them are bash that shellcheck has no
# word against, and those for Summit go through a stand-in for jsrun, with real ranks.
# Usage: test_jobscript.sh MTIP SOURCE_DIR
mtip=$1 source=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
say() { echo "$*"; failed=1; }
check() { # FILE: a good script for bash
  bash -n "$1" || say "$1 is no bash script"
  if command -v shellcheck >/dev/null; then
    shellcheck -e SC2016 "$1" || say "shellcheck does not like $1"
  fi
}
cd "$source" || exit 1
command -v shellcheck >/dev/null || echo 'no shellcheck here: scripts are not looked at by it'

# Those that are kept: the same command writes the same again.
kept=$(grep -l '^#   mtip jobscript ' jobs/*.sh)
[ "$(echo "$kept" | wc -l)" -ge 6 ] || say "scripts in jobs/: $kept"
for script in $kept; do
  line=$(sed -n 's/^#   mtip \(jobscript .*\)/\1/p' "$script")
  eval "\"\$mtip\" -q $line" >"$work/again.sh" 2>"$work/err" || { say "$line"; cat "$work/err"; }
  diff "$script" "$work/again.sh" || say "$script is not what is written today; write it again"
  check "$script"
done

example=$("$mtip" jobscript --help | sed -n '/^example:/{n;p;}')
# shellcheck disable=SC2086 # words
"$mtip" -q ${example#*mtip } >"$work/again.sh" 2>"$work/err" || { say "$example"; cat "$work/err"; }
check "$work/again.sh"

# Others, with names that the shell would take apart.
cat >"$work/a b'c.yaml" <<END
molecule: {file: $source/tests/data/2LYZ.pdb, b_factor: 30}
detector: {pixels: 12, pixel_size: 2, distance: 60, beam_stop: 2}
simulate: {images: 60, photons_per_image: 1e4, output: images.h5}
data: {file: images.h5}
grid: {size: 15, diameter: 45}
slice: {references: 120, final_references: 120}
phase: {starts: 2, generation_starts: 1, loops: 1, final_loops: 1, er: 5, hio: 5}
run: {generations: 3, final_generations: 1, attempts: 1, directory: "the run", deterministic: true}
END
cd "$work" || exit 1
config="a b'c.yaml"
write() { # NAME OPTION...: NAME.sh, which no second one writes over
  name=$1
  shift
  "$mtip" -q jobscript --output "$name.sh" "$@" || say "jobscript $*"
  check "$name.sh"
}
# shellcheck disable=SC2016
write plain --system slurm --cores 4 "$config" --set 'run.directory=$HOME `x`'
write array --system slurm --cores 4 --array 1-4 --mpi pmi2 --constraint 'a&(b|c)' "$config"
write auto --system slurm --cores 4 --time auto "$config"
write bench --system perlmutter -N 3 --account a_g --mps -- bench mtip --weak --csv 'a b.csv'
write cpu --system perlmutter-cpu --account a "$config"
write summit --system summit -N 2 --ranks 2 --account A "$config"
write lsf_array --system summit --ranks 2 --account A --array 2-3 --set run.seed=9 "$config"
grep -qF -- "--set 'run.directory=\$HOME \`x\`'" plain.sh || say 'a setting is not quoted'
grep -q '^#SBATCH --mem=1G' plain.sh || say 'the memory of the estimate is not asked for'
grep -q '^#SBATCH --time=0:05:00' auto.sh || say 'the time of the estimate is not asked for'
grep -q '^#SBATCH --ntasks-per-node=8' bench.sh && grep -q 'mps-control -f' bench.sh || say 'no MPS'
grep -q '^#SBATCH --ntasks-per-node=16' cpu.sh || say 'CPU nodes: not a rank for eight cores'
! grep -q 'gpus-per-node' cpu.sh || say 'CPU nodes: GPUs'
if grep '^#BSUB' summit.sh lsf_array.sh |
  grep -vE ':#BSUB -(J mtip|J "mtip\[2-3\]"|o mtip-%J(-%I)?\.log|nnodes [12]|W 1:00|P A|q batch|alloc_flags "smt1"|Q 85)$'; then
  say 'options that bsub may not know'
fi
# fails CODE TEXT OPTION...
fails() {
  code=$1 text=$2
  shift 2
  "$mtip" -q jobscript "$@" >out 2>err
  got=$?
  [ $got -eq "$code" ] && grep -qF -- "$text" err && [ ! -s out ] && return
  say "jobscript $*: exit code $got, expected $code and $text"
  cat err
}
fails 2 '--system is missing; it is one of slurm, perlmutter' "$config"
fails 2 "--system is 'sumit'" --system sumit "$config"
fails 2 '--cores is missing' --system slurm "$config"
fails 2 '--account is missing' --system summit "$config"
fails 2 'it must be an integer 1 .. 1000000' --system summit -N 0 --account A "$config"
fails 2 'it must be an integer 0 .. 6' --system summit --gpus 7 --account A "$config"
fails 2 'it must be an integer 1 .. 4' --system slurm --cores 4 --ranks 5 "$config"
fails 2 '--mps shares GPUs, but there are none' --system slurm --cores 4 --mps "$config"
fails 2 "--account is 'a b'" --system summit --account 'a b' "$config"
for array in 1-0 1,,2 - x 1- "1,"; do
  fails 2 "--array is '$array'" --system slurm --cores 4 --array "$array" "$config"
done
fails 2 "--time is '30'" --system slurm --cores 4 --time 30 "$config"
fails 2 '--time auto goes with a CONFIG' --system slurm --cores 4 --time auto -- bench mtip
"$mtip" info | grep -q GPU- || # where there is one, it is measured
  fails 5 '--time auto cannot be measured here' --system perlmutter --account A --time auto "$config" \
    --set run.deterministic=false
fails 2 "'benhc' is no command" --system slurm --cores 4 -- benhc mtip
fails 2 '--set goes with a CONFIG' --system slurm --cores 4 --set run.seed=1 -- bench mtip
fails 2 'holds a control character' --system slurm --cores 4 -- bench "a
b"
fails 3 'none.yaml' --system slurm --cores 4 none.yaml
fails 5 'a rank needs' --system slurm --cores 4 --memory 1 "$config" --set grid.size=401 --set grid.diameter=1200
"$mtip" -q jobscript --system slurm --cores 4 "$config" --output - >out && grep -q '^#SBATCH' out && [ ! -e - ] ||
  say '--output - is not standard output'
fails 6 'plain.sh: it exists' --system slurm --cores 4 --output plain.sh "$config"
[ -c /dev/full ] || say '/dev/full is not the device here: no full disk to write to'
"$mtip" -q jobscript --system slurm --cores 4 "$config" >/dev/full 2>/dev/null
[ $? -eq 6 ] || say 'a full disk is not noticed'

# jsrun's grammar: what is right, and what is not.
mkdir bin
ln -s "$source/tests/jsrun.sh" bin/jsrun
chmod +x bin/jsrun 2>/dev/null
PATH=$work/bin:$PATH
export PATH
while read -r ranks options; do
  # shellcheck disable=SC2086
  got=$(JSRUN_DRY=1 sh "$source/tests/jsrun.sh" $options x 2>&1)
  [ "$got" = "$ranks x" ] || say "jsrun $options: $got"
done <<END
12 -n 12 -r 6 -a 1 -c 7 -g 1 -b packed:7 -d packed -l gpu-cpu
12 -n2 -r1 -a6 -c42 -g6 -bpacked:7 --smpiargs=-gpu
6 --nrs ALL_HOSTS --tasks_per_rs 3 --cpu_per_rs ALL_CPUS --gpu_per_rs=ALL_GPUS --bind rs
84 -p 84 -X 1 -E A=b
END
while read -r options; do
  # shellcheck disable=SC2086
  JSRUN_DRY=1 sh "$source/tests/jsrun.sh" $options >out 2>&1
  [ $? -eq 2 ] || say "jsrun accepts $options"
done <<END
-n 3 -r 1 -a 6 -c 42 -g 6 x
-n 2 -r 2 -c 42 x
-n 2 -r 1 -g 7 x
-n 2 -r 1 -a 6 -c 41 -b packed:7 x
-n two x
-n 2 -b loose x
-n 2 -d spread x
-n 2 -l cpu x
-n 2 -p 2 x
-n 2 -z x
-n 2 --cores 3 x
-n 2
END
for script in "$source"/jobs/summit*.sh; do
  ranks=$(JSRUN_NODES=4 JSRUN_DRY=1 MTIP=x sh -c 'exec bash "$0"' "$script")
  case $ranks in
  '24 x reconstruct config/groel.yaml --time-limit '* | '48 x reconstruct config/groel.yaml --time-limit '*) ;;
  *) say "$script: $ranks" ;;
  esac
done

# The script for Summit with ranks: asked to stop it ends with 85, for which LSF queues it again; then it
# goes on to the end.
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export MTIP="$mtip" LSB_JOBID=12 LSB_JOBINDEX=3
"$mtip" -q simulate "$config" || say 'cannot simulate'
mkdir 'the run'
touch 'the run/STOP'
bash summit.sh >out 2>&1
got=$?
[ $got -eq 85 ] && grep -q 'LSF job 12' out || { say "a stop: exit code $got"; cat out; }
bash summit.sh >out 2>&1 && grep -q 'going on from the checkpoint' out ||
  { say 'the job queued again'; cat out; }
grep -q 'ranks: 4' 'the run/log.txt' || say 'not 2 nodes of 2 ranks'
bash lsf_array.sh >out 2>&1 && [ -e 'the run/seed3/DONE' ] || { say 'a job of an array'; cat out; }
grep -q 'seed: 3' 'the run/seed3/config.resolved.yaml' || say 'the seed of a job of an array'
exit $failed
