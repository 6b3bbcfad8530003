# shellcheck shell=sh
# To be sourced: `gpu_options` prints what cmake needs to build for this machine's GPUs: nothing where
# there is none, or no CUDA compiler.
PATH=$PATH:/usr/local/cuda/bin
gpu_options() {
  capabilities=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sort -u | tr -d .)
  [ -n "$capabilities" ] || return 0
  if command -v nvcc >/dev/null; then
    echo "-DMTIP_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=$(echo "$capabilities" | paste -sd ';' -)"
  else
    echo "there is a GPU, but no nvcc on the PATH or in /usr/local/cuda/bin: building for CPUs only" >&2
  fi
}
