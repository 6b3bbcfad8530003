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

job=$SLURM_JOB_ID
log=mtip-$SLURM_JOB_ID.log
count() { grep -c -- "$1" "$log"; }
generations=$(count ' generation=')
stops=$(count 'the file STOP was found')

srun --mpi=pmix --cpus-per-task=4 --cpu-bind=cores "$mtip" reconstruct config/groel.yaml
code=$?
on_each_node 'echo quit | nvidia-cuda-mps-control'
wait "$mps"

# Queues this job again, without the nodes that its log calls faulty.
again() {
  trap '' TERM # which Slurm sends to this script when the job is queued again
  echo "exit code $code: queued again"
  scontrol requeuehold "$job" || exit "$code"
  avoid=$({
    sed -n 's/.*node fault: //p' "$log"
    scontrol show job "$job" | sed -n 's/.*ExcNodeList=\([^( ]\{1,\}\).*/\1/p'
  } | sort -u | paste -sd ,)
  [ -z "$avoid" ] || scontrol update JobId="$job" ExcNodeList="$avoid"
  scontrol release "$job"
  exit 0
}
case $code in
85) # stopped early with a good checkpoint
  if [ "$(count 'the file STOP was found')" -gt "$stops" ]; then
    echo 'stopped by a file STOP: not queued again'
  elif [ "$(count ' generation=')" -gt "$generations" ]; then
    again
  else
    echo 'no generation was finished: not queued again; give the job more time'
  fi ;;
5 | 8) # a node is at fault or a rank hangs: three times
  if [ "$code" -eq 8 ] || grep -q 'node fault: ' "$log"; then
    [ "$(count '^exit code [58]: queued again')" -ge 3 ] || again
  fi ;;
esac
exit "$code"
