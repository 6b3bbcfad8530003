#!/bin/sh
# --help of every command has all its parts, and shows an example that the command line accepts.
# Usage: test_help.sh MTIP
mtip=$1
failed=0
wrong() { echo "mtip $*"; failed=1; }
commands=$("$mtip" --help | awk '/^commands:/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }')
[ "$(echo "$commands" | wc -w)" -ge 8 ] || wrong "--help lists: $commands"
for command in $commands; do
  help=$("$mtip" "$command" --help) || wrong "$command --help fails"
  for part in "usage: mtip $command" 'options:' 'files:' 'example:' 'exit codes:'; do
    echo "$help" | grep -q "^$part" || wrong "$command --help has no '$part'"
  done
  echo "$help" | grep -q '(null)' && wrong "$command --help lacks a text"
  echo "$help" | awk 'length > 100 { exit 1 }' || wrong "$command --help has a line of more than 100 characters"
  example=$(echo "$help" | sed -n '/^example:/{n;p;}')
  case "$example" in
  *"mtip $command"*) ;;
  *) wrong "$command --help has for an example: $example" ;;
  esac
  # shellcheck disable=SC2086 # words
  "$mtip" ${example#*mtip } --help >/dev/null || wrong "$command --help has an example that it does not take"
done
for benchmark in nufft mtip; do
  example=$("$mtip" bench $benchmark --help | sed -n '/^example:/{n;p;}')
  # shellcheck disable=SC2086 # words
  "$mtip" ${example#*mtip } --help >/dev/null || wrong "bench $benchmark --help has a wrong example: $example"
done
exit $failed
