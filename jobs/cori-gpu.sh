#!/bin/bash
# Cori GPU (NERSC): 40 cores, 8 V100; 2 nodes, 8 ranks and 8 GPUs each. Written by
#   mtip jobscript --system cori-gpu -N 2 --time 4:00:00 --account PROJECT config/groel.yaml
# Submit it with sbatch.
#SBATCH --job-name=mtip
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --cpus-per-task=10
#SBATCH --gpus-per-node=8
#SBATCH --exclusive
#SBATCH --time=4:00:00
#SBATCH --account=PROJECT
#SBATCH --constraint=gpu
#SBATCH --output=mtip-%j.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=USR1@300

mtip=${MTIP:-mtip}
export OMP_NUM_THREADS=5

srun --mpi=pmi2 --cpus-per-task=10 --cpu-bind=cores "$mtip" reconstruct config/groel.yaml
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
