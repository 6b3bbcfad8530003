#!/bin/sh
# What mtip converts, opened by independent programs (pip install numpy h5py mrcfile gemmi): maps by
# mrcfile and gemmi, CXI by the rules of its specification (1.6), Dragonfly's files by their layout.
# Exit 77 where these are not installed.  Usage: check_formats.sh MTIP SOURCE_DIR
mtip=$1 source=$2
python3 -c 'import numpy, h5py, mrcfile, gemmi' 2>/dev/null || {
  echo "skipped: no numpy, h5py, mrcfile or gemmi for Python"
  exit 77
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cat >"$work/a.yaml" <<END
molecule: {file: $source/tests/data/2LYZ.pdb}
detector: {pixels: 12, pixel_size: 2, distance: 60, beam_stop: 2}
simulate: {images: 40, photons_per_image: 1e3, output: $work/a.h5}
data: {file: $work/a.h5}
grid: {size: 17, diameter: 45}
slice: {references: 40, final_references: 40}
phase: {starts: 2, generation_starts: 1, loops: 1, final_loops: 1, er: 3, hio: 3}
run: {generations: 2, final_generations: 1, attempts: 1, directory: $work/run}
END
for step in 'simulate a.yaml' 'reconstruct a.yaml' 'convert a.h5 a.cxi' 'convert a.h5 a.emc' \
  'convert a.h5 det.h5 --to detector' 'convert a.h5 photons.h5 --to dragonfly' \
  'convert run/density.mrc map.cxi' 'convert run/density.mrc map.xdmf' 'convert map.h5 back.mrc'; do
  # shellcheck disable=SC2086
  (cd "$work" && "$mtip" -q $step) || exit 1
done
cd "$work" && exec python3 - <<'END'
import sys
import xml.etree.ElementTree
import gemmi
import h5py
import mrcfile
import numpy as np

bad = 0
def check(what, good):
    global bad
    bad += not good
    print("good" if good else "BAD ", what)

# maps
for name in ("run/density.mrc", "back.mrc"):
    check(name + " is valid for mrcfile", mrcfile.validate(name))
    with mrcfile.open(name) as m:
        values, voxel = m.data.copy(), float(m.voxel_size.x)
    g = gemmi.read_ccp4_map(name)
    g.setup(float("nan"))
    cell = g.grid.unit_cell
    check(name + " has the same voxel for gemmi", abs(cell.a / g.grid.nu - voxel) < 1e-5 and voxel > 0)
    check(name + " has the same values for gemmi", np.array_equal(np.array(g.grid).transpose(2, 1, 0), values))
with h5py.File("map.h5") as f:
    check("map.h5 holds the map", np.array_equal(f["map"][:], values))
tree = xml.etree.ElementTree.parse("map.xdmf").getroot()
check("map.xdmf has the map's size", tree.find(".//Topology").get("Dimensions").split() == [str(n) for n in values.shape])

# CXI, by its specification
def cxi(name, is_image):
    with h5py.File(name) as f:
        check(name + ": cxi_version is a scalar integer of 1.6", f["cxi_version"].shape == () and
              f["cxi_version"].dtype.kind == "i" and f["cxi_version"][()] == 160)
        data = f["entry_1/data_1/data"]
        check(name + ": data_1/data is a soft link", isinstance(f["entry_1/data_1"].get("data", getlink=True), h5py.SoftLink))
        axes = data.attrs["axes"]
        axes = axes.decode() if isinstance(axes, bytes) else axes
        check(name + ": as many axes as dimensions", len(axes.split(":")) == data.ndim)
        check(name + ": rows and columns come last", axes.split(":")[-2:] == ["y", "x"])
        for path in f["entry_1"]:
            check(f"{name}: {path} is a name of the specification", path.rsplit("_", 1)[0] in
                  ("data", "instrument", "image", "sample", "program", "start", "experiment"))
        if is_image:
            image = f["entry_1/image_1"]
            check(name + ": data_type", image["data_type"][()].decode() in
                  ("intensity", "electron density", "amplitude", "unphased amplitude", "autocorrelation"))
            check(name + ": data_space", image["data_space"][()].decode() in ("real", "diffraction"))
            check(name + ": image_size in m", np.allclose(image["image_size"][:], voxel * 1e-10 * np.array(values.shape)))
            check(name + ": values", np.array_equal(image["data"][:], values))
            return
        det = f["entry_1/instrument_1/detector_1"]
        check(name + ": energy in J", abs(f["entry_1/instrument_1/source_1/energy"][()] / 1.602176634e-19 - 4600) < 1e-3)
        check(name + ": distance in m", abs(det["distance"][()] - 0.06) < 1e-12)
        check(name + ": pixels in m", abs(det["x_pixel_size"][()] - 2e-3) < 1e-12 and abs(det["y_pixel_size"][()] - 2e-3) < 1e-12)
        check(name + ": basis_vectors (ndim, 3)", det["basis_vectors"].shape == (2, 3))
        check(name + ": corner is half a pixel before the first centre", np.allclose(det["corner_position"][:], [-0.012, -0.012, 0.06]))
        check(name + ": mask of integers, 4 pixels masked", det["mask"].dtype.itemsize == 4 and (det["mask"][:] != 0).sum() == 4)
        with h5py.File("a.h5") as ours:
            check(name + ": images", np.array_equal(data[:], ours["intensities"][:, 0]))
cxi("a.cxi", False)
cxi("map.cxi", True)

# Dragonfly
with h5py.File("a.h5") as ours:
    images = ours["intensities"][:].reshape(40, -1).astype(int)
raw = np.fromfile("a.emc", "<i4")
n, pixels, kind = raw[:3]
ones, multi = raw[256:256 + n], raw[256 + n:256 + 2 * n]
place = np.split(raw[256 + 2 * n:], np.cumsum([ones.sum(), multi.sum()]))
frames = np.zeros((n, pixels), int)
at = lambda counts: np.repeat(np.arange(n), counts)
frames[at(ones), place[0]] = 1
frames[at(multi), place[1]] = place[2]
check("a.emc holds the images", kind == 0 and np.array_equal(frames, images))
with h5py.File("photons.h5") as f:
    frames[:] = 0
    for i in range(n):
        frames[i, f["place_ones"][i]] = 1
        frames[i, f["place_multi"][i]] = f["count_multi"][i]
    check("photons.h5 holds the images", np.array_equal(frames, images) and f["num_pix"].shape == (1,))
with h5py.File("det.h5") as f:
    q = np.array([f["qx"][:], f["qy"][:], f["qz"][:]])
    r = f["ewald_rad"][()]
    check("det.h5: detd in pixels", abs(f["detd"][()] - 30) < 1e-9 and abs(r - 30) < 1e-9)
    check("det.h5: q on the Ewald sphere", np.allclose(np.sqrt(q[0]**2 + q[1]**2 + (q[2] + r)**2), r))
    x = (np.arange(12) - 5.5) * 1.0
    check("det.h5: qx as Dragonfly has it", np.allclose(q[0].reshape(12, 12)[5], r * x / np.sqrt(x**2 + 0.25 + 900)))
    check("det.h5: corr", np.allclose(f["corr"][:] / f["corr"][0], ((1 + q[2] / r)**3 * (1 - (q[0] / r)**2)) /
          ((1 + q[2][0] / r)**3 * (1 - (q[0][0] / r)**2))))
    check("det.h5: mask", (f["mask"][:] == 2).sum() == 4)
print("all good" if bad == 0 else f"{bad} bad")
sys.exit(bad > 0)
END
