#!/bin/sh
# The recipes that no tool of ours runs: Spack's run with stand-ins for its words, the image's script is
# one, and the module files, run with stand-ins for the module system's, set what they should.
# Exits with 77 if an interpreter is missing, after the others' checks.
# Usage: test_packaging.sh ROOT
cd "$1/packaging" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0 missing=
wrong() { echo "$*"; failed=1; }

sed -n '/^%post/,/^%env/{/^%/!p;}' mtip.def | sed 's/{{ cuda }}/OFF/' >"$work/post.sh"
[ -s "$work/post.sh" ] && sh -n "$work/post.sh" || wrong 'mtip.def: no %post that is a script'

if command -v python3 >/dev/null; then
  mkdir "$work/spack"
  cat >"$work/spack/package.py" <<'END'
class AutotoolsPackage: pass
class CMakePackage: pass
class CudaPackage: cuda_arch_values = ("80", "90")
def depends_on(spec, when="", type=""): print(spec, when)
license = version = variant = lambda *words, **named: None
END
  for recipe in spack/packages/*/package.py; do
    PYTHONPATH=$work PYTHONDONTWRITEBYTECODE=1 python3 "$recipe" >>"$work/needs" || wrong "$recipe"
  done
  grep -qx 'nccl cuda_arch=90 +nccl cuda_arch=90' "$work/needs" || wrong 'NCCL is not built for the GPUs of mtip'
else
  missing="$missing python3"
fi

# same NAME OUTPUT [LINE]...: what a module file did, and these.
same() {
  name=$1 output=$2
  shift 2
  printf '%s\n' 'PATH /some where/bin' 'MANPATH /some where/share/man' 'CMAKE_PREFIX_PATH /some where' \
    'MTIP_DATA /some where/share/mtip' "$@" | sort >"$work/expected"
  sort "$output" | cmp -s - "$work/expected" || { wrong "$name sets"; cat "$output"; }
}
if command -v tclsh >/dev/null; then
  tclsh - >"$work/tcl" <<'END' || wrong 'modulefile.tcl fails'
proc module-whatis {text} {}
proc conflict {name} {}
proc prepend-path {name value} { puts "$name $value" }
proc append-path {name value} { puts "$name then $value" }
proc setenv {name value} { puts "$name $value" }
set ModulesCurrentModulefile "/some where/share/mtip/modulefiles/mtip/0.1.0"
source modulefile.tcl
END
  same modulefile.tcl "$work/tcl" 'MANPATH then ' # Lmod does so itself
else
  missing="$missing tclsh"
fi
lua=$(command -v lua || command -v lua5.4 || command -v lua5.3)
if [ -n "$lua" ]; then
  "$lua" - >"$work/lua" <<'END' || wrong 'modulefile.lua fails'
function help(text) end
function whatis(text) end
function myModuleVersion() return "0.1.0" end
function myFileName() return "/some where/share/mtip/modulefiles/mtip/0.1.0.lua" end
function pathJoin(a, b) return a .. "/" .. b end
function prepend_path(name, value) print(name .. " " .. value) end
setenv = prepend_path
dofile("modulefile.lua")
END
  same modulefile.lua "$work/lua"
else
  missing="$missing lua"
fi
[ $failed -eq 0 ] || exit 1
[ -z "$missing" ] || { echo "skipped in part: no$missing"; exit 77; }
