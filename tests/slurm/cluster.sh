# shellcheck shell=sh
# To be sourced: a Slurm of three nodes (n0, n1, n2; 4 cores, 2 stand-ins for GPUs each) on this machine,
# as root, in a folder of its own.  Daemons are known by their process ids, and stopped by them.
#   cluster_there         Slurm's daemons are installed, and this is root
#   cluster_start DIR     begins one in the empty folder DIR, sets SLURM_CONF
#   cluster_wait N        until N nodes are idle; fails after 30 s
#   cluster_kill NODE     the node dies: its daemon, the steps on it and their processes
#   cluster_boot NODE     begins the daemon of a node
#   cluster_stop          ends all of it
cluster_here=${cluster_here:?the folder of cluster.sh}

cluster_there() {
  [ "$(id -u)" -eq 0 ] || return 1
  for program_ in slurmctld slurmd srun sbatch scontrol; do
    command -v $program_ >/dev/null || return 1
  done
}

cluster_start() {
  cluster_dir=$1
  port_=$((20000 + $$ % 5000 * 4))
  for file_ in slurm.conf gres.conf; do
    sed "s|@DIR@|$cluster_dir|; s|@PORT@|$port_|; s|@NODE_PORTS@|$((port_ + 1))-$((port_ + 3))|" \
      "$cluster_here/$file_.in" >"$cluster_dir/$file_"
  done
  cp "$cluster_here/cgroup.conf" "$cluster_dir"
  mkdir "$cluster_dir/state"
  mknod "$cluster_dir/nvidia0" c 1 3 && mknod "$cluster_dir/nvidia1" c 1 3 || return 1
  export SLURM_CONF="$cluster_dir/slurm.conf"
  setsid slurmctld -i -D >"$cluster_dir/slurmctld.out" 2>&1 </dev/null &
  echo $! >"$cluster_dir/slurmctld.mine"
  for node_ in n0 n1 n2; do
    mkdir "$cluster_dir/spool.$node_" "$cluster_dir/tmp.$node_"
    cluster_boot $node_
  done
  cluster_wait 3
}

cluster_boot() {
  setsid slurmd -N "$1" -D >"$cluster_dir/slurmd.$1.out" 2>&1 </dev/null &
  echo $! >"$cluster_dir/slurmd.$1.mine"
}

cluster_wait() {
  for _ in $(seq 150); do
    [ "$(sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l)" -eq "$1" ] && return 0
    sleep 0.2
  done
  sinfo -N >&2
  return 1
}

# A process has this line in its environment.
cluster_has() { # PROCESS LINE
  { tr '\0' '\n' <"/proc/$1/environ"; } 2>/dev/null | grep -qx -- "$2"
}

# The processes of this cluster's jobs on a node, and the daemons that started them.
cluster_processes() {
  for pid_ in $(cd /proc && echo [0-9]*); do
    cluster_has "$pid_" "SLURM_CONF=$SLURM_CONF" && cluster_has "$pid_" "SLURMD_NODENAME=$1" || continue
    parent_=$(sed -n 's/^PPid:\t//p' "/proc/$pid_/status" 2>/dev/null)
    echo "$pid_"
    [ "$(cat "/proc/$parent_/comm" 2>/dev/null)" != slurmstepd ] || echo "$parent_"
  done | sort -u
}

cluster_kill() {
  # shellcheck disable=SC2046
  kill -9 "$(cat "$cluster_dir/slurmd.$1.mine")" $(cluster_processes "$1") 2>/dev/null
  rm -f "$cluster_dir/slurmd.$1.mine"
}

cluster_stop() {
  for mine_ in "$cluster_dir"/slurmd.*.mine; do
    [ -e "$mine_" ] || continue
    mine_=${mine_##*/slurmd.}
    cluster_kill "${mine_%.mine}"
  done
  kill -9 "$(cat "$cluster_dir/slurmctld.mine")" 2>/dev/null
}
