#!/bin/sh
# Every message that docs/troubleshooting.md quotes in its tables is in the sources, and every file
# that the documentation names is there.
# Usage: test_docs.sh ROOT
cd "$1" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
# All literals, those split over lines joined.
cat src/*.[ch] src/core/*.[ch] mtip/*.[ch] nufft/*.[ch] | tr '\n' ' ' | sed 's/"  *"//g' >"$work/sources"
# The quotations that begin a row; "..." separates what is literal.
# shellcheck disable=SC2016 # no commands
sed -n 's/^| `\([^`]*\)`.*/\1/p' docs/troubleshooting.md >"$work/messages"
[ "$(wc -l <"$work/messages")" -ge 30 ] || { echo 'fewer than 30 messages: have the tables changed?'; failed=1; }
sed 's/\.\.\./\
/g' "$work/messages" | sed 's/^ *//; s/ *$//' | grep '[a-z]' >"$work/parts"
while IFS= read -r part; do
  grep -qF -- "$part" "$work/sources" || { echo "no source has: $part"; failed=1; }
done <"$work/parts"

folders='cmake|config|docs|examples|jobs|mtip|nufft|packaging|src|tests'
for file in $(grep -ohE '`('"$folders"')/[A-Za-z0-9_./-]*`' README.md docs/*.md nufft/NOTES.md | tr -d '`' | sort -u); do
  [ -e "$file" ] || { echo "no $file"; failed=1; }
done
exit $failed
