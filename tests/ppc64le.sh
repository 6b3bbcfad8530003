#!/bin/sh
# The portable path on Summit's processors: builds nufft/ and src/core/ with Debian's cross compiler
# for ppc64le, warnings as errors, and runs their unit tests under qemu.  Libraries of that
# architecture are unpacked into the scratch folder; nothing is installed here.
# Needs (Debian) gcc-powerpc64le-linux-gnu, libc6-dev-ppc64el-cross and qemu-user-static, of Debian 13 or
# of bookworm-backports: qemu 7.2 gets an instruction wrong.  Exits with 77 where they are not.
# Usage: [QEMU=PATH] sh tests/ppc64le.sh [SCRATCH [CTEST_OPTIONS]...]   (a temporary folder by default)
set -e
cd "$(dirname "$0")/.."
qemu=${QEMU:-qemu-ppc64le-static}
for tool in powerpc64le-linux-gnu-gcc "$qemu" apt-get dpkg; do
  command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
if [ $# -gt 0 ]; then
  scratch=$1
  shift
  mkdir -p "$scratch"
  scratch=$(cd "$scratch" && pwd)
else
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
fi

# One number of two is none: what the other is converted to must not depend on that.
cat >"$scratch/probe.c" <<'END'
#include <altivec.h>
int main(void)
{
    volatile double zero = 0;
    vector double numbers = {1, zero / zero};
    vector int whole;
    __asm__("xvcvdpsxws %x0,%x1" : "=wa"(whole) : "wa"(numbers));
    return whole[0] != 1;
}
END
powerpc64le-linux-gnu-gcc -mcpu=power9 -static -o "$scratch/probe" "$scratch/probe.c"
"$qemu" -cpu power9 "$scratch/probe" || { echo "skipped: $qemu converts numbers beside a NaN wrongly; take a newer one"; exit 77; }

# A package list of its own, so that this machine's knows nothing of a second architecture.
apt_there() {
  apt-get -q -o Dir::State="$scratch/apt" -o Dir::State::status="$scratch/apt/status" \
    -o Dir::Cache="$scratch/apt" -o APT::Architecture=ppc64el -o APT::Architectures=ppc64el \
    -o APT::Sandbox::User= "$@"
}
if [ ! -d "$scratch/root" ]; then
  mkdir -p "$scratch/apt/lists/partial" "$scratch/apt/archives/partial" "$scratch/packages"
  : >"$scratch/apt/status"
  apt_there update || echo "not all lists were fetched; going on with those that were"
  (cd "$scratch/packages" && apt_there download libfftw3-dev libfftw3-double3 libfftw3-single3 \
    libcmocka-dev libcmocka0)
  mkdir "$scratch/root.part"
  for package in "$scratch"/packages/*.deb; do
    dpkg -x "$package" "$scratch/root.part"
  done
  mv "$scratch/root.part" "$scratch/root"
fi

cmake -S . -B "$scratch/build" --toolchain cmake/ppc64le.cmake -DMTIP_PPC64LE_ROOT="$scratch/root" \
  -DMTIP_PPC64LE_QEMU="$qemu" -DCMAKE_BUILD_TYPE=Release -DMTIP_ONLY_NUFFT=ON -DMTIP_WERROR=ON
cmake --build "$scratch/build" --parallel "$(nproc)"
cd "$scratch/build"
ctest --output-on-failure --no-tests=error -L unit "$@"
