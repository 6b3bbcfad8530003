#!/bin/bash
# Any cluster with Slurm; 2 nodes, 8 ranks and 4 GPUs each. Written by
#   mtip jobscript --system slurm -N 2 --gpus 4 --cores 32 --memory 128 --time 8:00:00 --mps config/groel.yaml
# Submit it with sbatch.
#SBATCH --job-name=mtip
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --cpus-per-task=4
#SBATCH --gpus-per-node=4
#SBATCH --mem=128G
#SBATCH --time=8:00:00
#SBATCH --output=mtip-%j.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=USR1@300

mtip=${MTIP:-mtip}
export OMP_NUM_THREADS=4

# A daemon on each node, through which ranks share its GPUs.
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mtip-mps-$SLURM_JOB_ID
export CUDA_MPS_LOG_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY
on_each_node() {
  srun --overlap --mem=0 --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=1 sh -c "$1"
}
on_each_node "mkdir -p $CUDA_MPS_PIPE_DIRECTORY && exec nvidia-cuda-mps-control -f" &
mps=$!
sleep 5

srun --mpi=pmix --cpus-per-task=4 --cpu-bind=cores "$mtip" reconstruct config/groel.yaml
code=$?
on_each_node 'echo quit | nvidia-cuda-mps-control'
wait "$mps"

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
