# shellcheck shell=sh
# To be sourced: `mpi N COMMAND...` runs a command on N ranks of this machine, as any user, with more
# ranks than cores if need be.
mpi() { # cores are not bound to ranks: several runs may share the machine
  export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}" # threads that wait leave the cores to others
  ranks_=$1
  shift
  if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
  if [ "$ranks_" -gt "$(nproc)" ]; then
    mpirun --bind-to none --oversubscribe -n "$ranks_" "$@"
  else
    mpirun --bind-to none -n "$ranks_" "$@"
  fi
}
