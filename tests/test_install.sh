#!/bin/sh
# What `cmake --install` leaves: the library used by another project through CMake and through
# pkg-config, the program started from another folder.
# Usage: test_install.sh CMAKE BUILD ROOT
cmake=$1 build=$2 root=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "failed: $*"; }; }

# Packagers' way: below DESTDIR, for the prefix that was configured.
DESTDIR=$work/stage quietly "$cmake" --install "$build"
staged=$(find "$work/stage" -type f | wc -l)
program=$(find "$work/stage" -type f -path '*/bin/mtip')
[ -n "$program" ] || fail 'no bin/mtip below DESTDIR'
grep -rl "$work" "$work/stage" && fail 'these name DESTDIR'

# Into a folder with a space in its name.
prefix="$work/a prefix"
quietly "$cmake" --install "$build" --prefix "$prefix"
[ "$(find "$prefix" -type f | wc -l)" -eq "$staged" ] || fail 'another number of files than below DESTDIR'
for file in bin/mtip share/man/man1/mtip.1 share/bash-completion/completions/mtip share/mtip/config/quickstart.yaml; do
  [ -s "$prefix/$file" ] || fail "no $file"
done

# Another project.
example=$root/examples/nufft
quietly "$cmake" -S "$example" -B "$work/example" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS=-Werror
quietly "$cmake" --build "$work/example"
"$work/example/example" || fail 'the example built by CMake fails'
pc=$(find "$prefix" -name nufft.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
eval "quietly cc -o '$work/by-pkg-config' '$example/example.c' $(pkg-config --cflags --libs nufft)"
"$work/by-pkg-config" || fail 'the example built by pkg-config fails'

# The program, where there is nothing of ours.
mkdir -p "$work/elsewhere/quickstart"
cd "$work/elsewhere" || exit 1
quietly "$prefix/bin/mtip" simulate "$prefix/share/mtip/config/quickstart.yaml" --set simulate.images=3
quietly "$prefix/bin/mtip" check "$prefix/share/mtip/config/quickstart.yaml"
cmp "$prefix/share/man/man1/mtip.1" - <<END || fail 'the manual page is of another program'
$("$prefix/bin/mtip" --help-man)
END
