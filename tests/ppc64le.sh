#!/bin/sh
# The program on Summit's processors: built with Debian's cross compiler for ppc64le, warnings as errors; its
# unit tests, each test of the NUFFT by itself, and a small run of one rank and of two, under qemu.
# Libraries of that architecture (140 MB) are unpacked into the scratch folder; nothing is installed here.
# Needs (Debian) gcc-powerpc64le-linux-gnu, libc6-dev-ppc64el-cross, openmpi-bin and qemu-user-static, of Debian
# 13 or of bookworm-backports: qemu 7.2 gets an instruction wrong.  Exits with 77 where they are not.
# Usage: [QEMU=PATH] sh tests/ppc64le.sh [SCRATCH [CTEST_OPTIONS]...]   (a temporary folder by default)
set -e
cd "$(dirname "$0")/.."
source=$PWD
qemu=${QEMU:-qemu-ppc64le-static}
for tool in powerpc64le-linux-gnu-gcc "$qemu" apt-get dpkg mpirun; do
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
cat >"$scratch/probe.c" <<'END_OF_PROBE'
#include <altivec.h>
int main(void)
{
    volatile double zero = 0;
    vector double numbers = {1, zero / zero};
    vector int whole;
    __asm__("xvcvdpsxws %x0,%x1" : "=wa"(whole) : "wa"(numbers));
    return whole[0] != 1;
}
END_OF_PROBE
qemu=$(command -v "$qemu")
powerpc64le-linux-gnu-gcc -mcpu=power9 -static -o "$scratch/probe" "$scratch/probe.c"
"$qemu" -cpu power9 "$scratch/probe" || { echo "skipped: $qemu converts numbers beside a NaN wrongly; take a newer one"; exit 77; }

# A package list of its own, so that this machine's knows nothing of a second architecture.
apt_there() {
  apt-get -q -o Dir::State="$scratch/apt" -o Dir::State::status="$scratch/apt/status" \
    -o Dir::Cache="$scratch/apt" -o APT::Architecture=ppc64el -o APT::Architectures=ppc64el \
    -o APT::Sandbox::User= "$@"
}
if [ ! -d "$scratch/root" ]; then
  rm -rf "$scratch/root.part"
  mkdir -p "$scratch/apt/lists/partial" "$scratch/apt/archives/partial"
  : >"$scratch/apt/status"
  apt_there update || echo "not all lists were fetched; going on with those that were"
  apt_there install -y --download-only --no-install-recommends libfftw3-dev libopenblas-openmp-dev libxrl-dev \
    libopenmpi-dev libhdf5-dev libyaml-dev librandom123-dev libcmocka-dev
  for package in "$scratch"/apt/archives/*.deb; do
    dpkg -x "$package" "$scratch/root.part"
  done
  # Links to /lib mean that of the root.
  find "$scratch/root.part" -type l -lname '/*' | while read -r link; do
    ln -sfn "$scratch/root$(readlink "$link")" "$link"
  done
  mv "$scratch/root.part" "$scratch/root"
fi

cmake -S . -B "$scratch/build" --toolchain cmake/ppc64le.cmake -DMTIP_PPC64LE_ROOT="$scratch/root" \
  -DMTIP_PPC64LE_QEMU="$qemu" -DCMAKE_BUILD_TYPE=Release -DMTIP_WERROR=ON
cmake --build "$scratch/build" --parallel "$(nproc)"
(cd "$scratch/build" && ctest --output-on-failure --no-tests=error -L unit "$@")

# Images, and a reconstruction from them; the ranks are started by this machine's mpirun.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none # qemu does not copy between processes
mtip() { "$qemu" -cpu power9 -L "$scratch/root" "$scratch/build/bin/mtip" "$@"; }
mkdir -p "$scratch/run"
cd "$scratch/run"
rm -rf one two
cat >a.yaml <<END
molecule: {file: $source/tests/data/2LYZ.pdb}
detector: {pixels: 12, pixel_size: 2, distance: 60, beam_stop: 2}
simulate: {images: 40, photons_per_image: 1e4, output: images.h5}
data: {file: images.h5}
grid: {size: 17, diameter: 45}
slice: {references: 40, final_references: 40}
phase: {starts: 2, generation_starts: 1, loops: 1, final_loops: 1, er: 3, hio: 3}
run: {generations: 2, final_generations: 1, attempts: 1, directory: one, deterministic: true}
END
mtip info
mtip check a.yaml
mtip simulate a.yaml
mtip reconstruct a.yaml
mpirun --oversubscribe -n 2 "$qemu" -cpu power9 -L "$scratch/root" "$scratch/build/bin/mtip" reconstruct a.yaml \
  --set run.directory=two
cmp one/density.mrc two/density.mrc
echo 'one rank and two give the same bits'
