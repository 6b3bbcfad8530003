# Completion of mtip's command line in bash; sourced by bash-completion, or by hand.  What there is to
# complete, the program itself says: --help, COMMAND --help, --help-config.
_mtip_commands() {
  "$1" --help 2>/dev/null | awk '/^commands:/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }'
}

_mtip_settings() {
  "$1" --help-config 2>/dev/null |
    awk '{ name = $1; sub(":", "", name) } /^[a-z]/ { section = name } /^  [a-z]/ { print section "." name "=" }'
}

_mtip() {
  local mtip=$1 current=$2 previous=$3 commands command='' word words=''
  commands=$(_mtip_commands "$mtip")
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ -z $command && $'\n'$commands$'\n' == *$'\n'"$word"$'\n'* ]]; then
      command=$word
    elif [[ $command == bench && ($word == nufft || $word == mtip) ]]; then
      command="bench $word"
    fi
  done
  if [[ $previous == --set ]]; then
    words=$(_mtip_settings "$mtip")
    compopt -o nospace 2>/dev/null
  elif [[ $current == -* ]]; then
    # shellcheck disable=SC2086 # one or two words
    words=$("$mtip" $command --help 2>/dev/null | awk '/^  --/ { print $1 }')
  elif [[ -z $command ]]; then
    words=$commands
  elif [[ $command == bench ]]; then
    words='nufft mtip'
  fi
  # shellcheck disable=SC2207 # words without spaces
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}

complete -o default -F _mtip mtip
