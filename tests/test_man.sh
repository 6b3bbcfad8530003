#!/bin/sh
# The manual page: no warning of the formatters that are there (77 without any), and all commands,
# options and settings in it.
# Usage: test_man.sh MTIP
mtip=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
page=$work/mtip.1
"$mtip" --help-man >"$page" || exit 1
failed=0 checked=
for name in $("$mtip" --help | awk '/^  [a-z-]/ { print $1 }') \
  $("$mtip" --help-config | sed -n 's/^  \([a-z0-9_]*\):.*/\1/p'); do
  sed 's/\\//g' "$page" | grep -qE "^\.(B|SS) \"(mtip )?$name" || { echo "the page has no $name"; failed=1; }
done
if command -v mandoc >/dev/null; then
  # the version is in the foot of the page, where a date would be one more thing to keep right
  mandoc -Tlint -W warning "$page" | grep -v 'missing date' && failed=1
  checked=mandoc
fi
if command -v man >/dev/null && man --version >/dev/null 2>&1; then
  warnings=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$page" 2>&1 >/dev/null)
  [ -z "$warnings" ] || { echo "$warnings"; failed=1; }
  checked="$checked man"
fi
[ $failed -eq 0 ] || exit 1
[ -n "$checked" ] || { echo 'skipped: neither mandoc nor man'; exit 77; }
