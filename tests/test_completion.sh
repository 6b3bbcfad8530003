#!/bin/sh
# What bash completes (77 without bash).
# Usage: test_completion.sh MTIP ROOT
command -v bash >/dev/null || { echo 'skipped: no bash'; exit 77; }
exec bash -c '
mtip=$1 failed=0
source "$2/packaging/mtip.bash"
complete -p mtip | grep -q -- "-F _mtip mtip" || { echo "not registered"; failed=1; }
# expect REPLY WORD...: completing the last word of "mtip WORD..." gives REPLY (an extended regular expression)
expect() {
  local reply=$1
  COMP_WORDS=(mtip "${@:2}") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _mtip "$mtip" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
  [[ "${COMPREPLY[*]}" =~ ^($reply)$ ]] || { echo "mtip ${*:2}: ${COMPREPLY[*]}, expected $reply"; failed=1; }
}
expect "simulate" si
expect "reconstruct" -q reco
expect "--help --help-config --help-man" --help
expect "--truth" evaluate run --tr
expect "grid\.size=" check c.yaml --set grid.si
expect "run\.[a-z_=. ]*run\.precision=.*" reconstruct c.yaml --set run.
expect "" reconstruct c
expect "nufft mtip" bench ""
expect "--dim" bench nufft --di
expect "--weak" bench mtip --we
exit $failed' bash "$@"
