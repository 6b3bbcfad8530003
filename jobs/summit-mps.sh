#!/bin/bash
# Summit (OLCF): 42 cores for jobs, 6 V100; 4 nodes, 12 ranks and 6 GPUs each. Written by
#   mtip jobscript --system summit -N 4 --time 2:00:00 --account PROJECT --mps config/groel.yaml
# Submit it with bsub.
#BSUB -J mtip
#BSUB -o mtip-%J.log
#BSUB -nnodes 4
#BSUB -W 2:00
#BSUB -P PROJECT
#BSUB -q batch
#BSUB -alloc_flags "smt1 gpumps"
#BSUB -Q 85

mtip=${MTIP:-mtip}
export OMP_NUM_THREADS=3

jsrun -n 4 -r 1 -a 12 -c 36 -g 6 -b packed:3 -d packed "$mtip" reconstruct config/groel.yaml \
  --time-limit $((6900 - SECONDS))
