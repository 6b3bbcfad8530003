#!/bin/bash
# Perlmutter (NERSC), GPU nodes: 64 cores, 4 A100; 4 nodes, 4 ranks and 4 GPUs each. Written by
#   mtip jobscript --system perlmutter -N 4 --time 6:00:00 --account PROJECT config/groel.yaml
# Submit it with sbatch.
#SBATCH --job-name=mtip
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=32
#SBATCH --gpus-per-node=4
#SBATCH --exclusive
#SBATCH --time=6:00:00
#SBATCH --account=PROJECT
#SBATCH --qos=regular
#SBATCH --constraint=gpu
#SBATCH --output=mtip-%j.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=USR1@300

mtip=${MTIP:-mtip}
export OMP_NUM_THREADS=16

srun --cpus-per-task=32 --cpu-bind=cores "$mtip" reconstruct config/groel.yaml
code=$?

# Queues this job again, without the nodes that its log calls faulty.
log=mtip-$SLURM_JOB_ID.log
again() {
  trap '' TERM # which Slurm sends to this script when the job is queued again
  echo "exit code $code: queued again"
  scontrol requeuehold "$SLURM_JOB_ID" || exit "$code"
  faulty=$(sed -n 's/.*node fault: //p' "$log" | sort -u | paste -sd ,)
  before=$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/.*ExcNodeList=\([^( ]*\).*/\1/p')
  [ -z "$faulty" ] || scontrol update JobId="$SLURM_JOB_ID" ExcNodeList="${before:+$before,}$faulty"
  scontrol release "$SLURM_JOB_ID"
  exit 0
}
case $code in
85) # stopped early with a good checkpoint
  [ "${SLURM_RESTART_COUNT:-0}" -ge 100 ] || again ;;
5 | 8) # three times, where a node is at fault or a rank hangs
  if [ "$code" -eq 8 ] || grep -q 'node fault: ' "$log"; then
    [ "$(grep -c '^exit code [58]: queued again' "$log")" -ge 3 ] || again
  fi ;;
esac
exit "$code"
