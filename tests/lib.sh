# shellcheck shell=sh disable=SC2034 # `failed` is what a test exits with
# lib.sh: the head of tests that run the program, for `. "$(dirname "$0")/lib.sh"`: as any user, in a
# folder of its own that is removed in the end.
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
say() { echo "$*"; failed=1; }
# small_config SOURCE_DIR RUN_SETTINGS: a config whose data take a moment to simulate and to reconstruct.
small_config() {
  cat <<END
molecule: {file: $1/tests/data/2LYZ.pdb}
detector: {pixels: 12, pixel_size: 2, distance: 60, beam_stop: 2}
simulate: {images: 40, photons_per_image: 1e4, output: images.h5}
data: {file: images.h5}
grid: {size: 17, diameter: 45}
slice: {references: 40, final_references: 40}
phase: {starts: 2, generation_starts: 1, loops: 1, final_loops: 1, er: 3, hio: 3}
run: {attempts: 1, $2}
END
}
