#!/bin/sh
# Who may include whom: src/core < nufft < mtip < src, and libraries that only some files may see.
# Usage: check_layers.sh ROOT
cd "$1" || exit 1
bad=0
# layer FOLDER OURS: files in FOLDER include of this project only what matches OURS.
# library HEADERS WHERE: only files that match WHERE include <HEADERS>.
report() { [ -z "$2" ] || { printf '%s:\n%s\n' "$1" "$2"; bad=1; }; }
includes() { grep -rE '^[[:space:]]*#[[:space:]]*include' "$@" --include='*.[ch]' --include='*.cu'; }
layer() { report "$1 may include only \"$2\"" "$(includes "$1" | grep '"' | grep -vE "\"($2)\"")"; }
library() { report "only $2 may include $1" "$(includes src nufft mtip | grep -E "[<\"/]($1)" | grep -vE "^($2):")"; }

layer src/core 'core/[a-z_]+\.h'
layer nufft '(core|nufft)/[a-z_]+\.h'
layer mtip '(core|mtip)/[a-z_]+\.h|nufft/(nufft|fft)\.h'
library '(mpi|hdf5|yaml|nccl)\.h' 'src/[a-z_0-9]+\.[ch]'
library '(fftw3|cufft)[A-Za-z]*\.h' 'nufft/fft_[a-z_0-9]+\.(c|cu)'
library '(cblas|cublas[a-zA-Z_0-9]*)\.h' 'mtip/kernels_(cpu|cuda)[a-z_0-9]*\.(c|cu)'

# What one kind of processor alone has stands in the files that CMake chooses for it.  (An empty asm is
# a word to the compiler, which every processor understands.)
processor='[a-z0-9]*intrin\.h|arm_(neon|sve)\.h|altivec\.h|\b_mm[0-9]*_|__builtin_(ia32|cpu)_'
processor="$processor"'|\basm[^"]*"[^"]|__asm(__)?[^"]*"[^"]|__(x86_64|i386|aarch64|powerpc64)__'
report 'only nufft/nufft_cpu_isa_*.c may know a processor' "$(grep -rnE "$processor" src nufft mtip \
  --include='*.[ch]' | grep -vE '^(nufft/nufft_cpu_isa_[a-z0-9]+\.c|nufft/nufft_cuda_[a-z]+\.h|mtip/kernels_cuda_[a-z]+\.h|src/core/types\.h):')"
exit $bad
