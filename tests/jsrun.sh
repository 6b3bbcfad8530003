#!/bin/sh
# Stands in for Summit's jsrun, for tests: checks the options and whether the resource sets fit on the
# nodes of the job, then starts as many ranks with mpirun. Exit code 2 and a sentence for what jsrun
# would refuse.
# Of its environment: JSRUN_NODES in the job (2), each of 42 cores and 6 GPUs; JSRUN_DRY=1 prints the
# number of ranks and the command instead.
nodes=${JSRUN_NODES:-2} cores=42 gpus=6
refuse() { echo "jsrun: $*" >&2; exit 2; }
# The value of an option as a number; ALL_.. is all of a node's.
number() { # NAME VALUE LEAST ALL
  case $2 in
  ALL_*) [ "$4" != none ] || refuse "$1 is not for $2"; n_=$4 ;;
  '' | *[!0-9]*) refuse "$1 is '$2', not a number" ;;
  *) n_=$2 ;;
  esac
  [ "$n_" -ge "$3" ] || refuse "$1 is $2, less than $3"
}
among() { # NAME VALUE PATTERN, of grep -E
  printf '%s\n' "$2" | grep -qiE "^($3)$" || refuse "$1 is '$2'"
}
sets='' tasks=1 cpus=1 devices=0 per_host='' width=1 total=''
take() { # OPTION VALUE, by its short name
  case $1 in
  -n) number -n "$2" 1 "$nodes"; sets=$n_ ;;
  -p) number -p "$2" 1 none; total=$n_ ;;
  -a) number -a "$2" 1 none; tasks=$n_ ;;
  -c) number -c "$2" 1 $cores; cpus=$n_ ;;
  -g) number -g "$2" 0 $gpus; devices=$n_ ;;
  -r) number -r "$2" 1 none; per_host=$n_ ;;
  -b)
    among -b "$2" 'none|rs|(proportional-)?packed(:(smt:)?[1-9][0-9]*)?'
    case $2 in *:*) width=${2##*:} ;; esac ;;
  -l) among -l "$2" '(cpu|gpu|memory)-(cpu|gpu|memory)(,(cpu|gpu|memory)-(cpu|gpu|memory))*' ;;
  -d) among -d "$2" 'packed|cyclic|plane:[1-9][0-9]*' ;;
  -M) among -M "$2" 'none|off|(-[-a-zA-Z_0-9=]+( |$))+' ;;
  -E) among -E "$2" '[A-Za-z_][A-Za-z_0-9]*(=.*)?' ;;
  -X) among -X "$2" '[01]' ;;
  -e) among -e "$2" 'individual|collected|prepended' ;;
  esac
}
shorten() { # LONG_NAME: $name is its short one
  case $1 in
  --nrs) name=-n ;; --np) name=-p ;; --tasks_per_rs) name=-a ;; --cpu_per_rs) name=-c ;;
  --gpu_per_rs) name=-g ;; --rs_per_host) name=-r ;; --bind) name=-b ;; --latency_priority) name=-l ;;
  --launch_distribution) name=-d ;; --smpiargs) name=-M ;; --env) name=-E ;;
  --exit_on_error) name=-X ;; --stdio_mode) name=-e ;; *) refuse "unknown option $1" ;;
  esac
}
while [ $# -gt 0 ]; do
  case $1 in
  --*=*) shorten "${1%%=*}"; value=${1#*=} ;;
  --*) shorten "$1"; [ $# -ge 2 ] || refuse "$1 needs a value"; value=$2; shift ;;
  -[npacgrbldMEXe]) [ $# -ge 2 ] || refuse "$1 needs a value"; name=$1 value=$2; shift ;;
  -[npacgrbldMEXe]*) value=${1#-?}; name=${1%"$value"} ;;
  -*) refuse "unknown option $1" ;;
  *) break ;;
  esac
  take "$name" "$value"
  shift
done
[ $# -gt 0 ] || refuse 'no program'
[ -z "$sets" ] || [ -z "$total" ] || refuse '-n and -p exclude each other'
sets=${sets:-${total:-1}}
[ -z "$total" ] || tasks=1
if [ -z "$per_host" ]; then # as many as fit
  per_host=$((cores / cpus))
  if [ "$devices" -gt 0 ] && [ $((gpus / devices)) -lt $per_host ]; then per_host=$((gpus / devices)); fi
fi
[ "$per_host" -ge 1 ] && [ $((per_host * cpus)) -le $cores ] ||
  refuse "$per_host resource sets of $cpus cores do not fit on a node of $cores"
[ $((per_host * devices)) -le $gpus ] || refuse "$per_host resource sets of $devices GPUs: a node has $gpus"
[ "$sets" -le $((per_host * nodes)) ] || refuse "$sets resource sets, $per_host a node: $nodes nodes are too few"
[ $((tasks * width)) -le "$cpus" ] || refuse "$tasks tasks bound to $width cores each do not fit into $cpus"
ranks=$((sets * tasks))
if [ -n "$JSRUN_DRY" ]; then
  echo "$ranks $*"
  exit 0
fi
export OMP_NUM_THREADS=1 # of this machine, not of Summit
exec mpirun --oversubscribe --bind-to none -n $ranks "$@"
