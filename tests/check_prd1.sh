#!/bin/sh
# Dragonfly's photons of PRD1 (1W8X) against `mtip simulate` at the same parameters: mean counts on rings of
# 8 to 20 pixels.  Dragonfly lays the particle on a grid whose Fourier voxel is taken for a pixel: N voxels of
# half its finest period, N = 2 ceil(n / 2) + 3, where n of them span the field of view (make_intensities.py),
# so that its photons are those of a particle n / N times the size.  Its density is made by trilinear deposit,
# then filtered (make_densities.py, process_pdb.py), and slices are interpolated trilinearly (make_data.c).
# Shown are: ours as they are; ours at the places of its grid; ours through its grid, deposit, filter and
# interpolation; and its simulator written anew, from atoms to counts.  The last two have to agree.
# Exit 77 without numpy, h5py or the data.  Usage: check_prd1.sh MTIP SOURCE_DIR
mtip=$1 data=${MTIP_SHARED_DATA:-$2/../shared/data}
python3 -c 'import h5py, numpy' 2>/dev/null || { echo "skipped: no numpy or h5py for Python"; exit 77; }
[ -e "$data/dragonfly/prd1/photons.emc" ] || { echo "skipped: no $data/dragonfly/prd1"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cat >"$work/prd1.py" <<'END_PYTHON'
import subprocess
import sys

import h5py
import numpy as np

mtip, data, work = sys.argv[1:]
wavelength, distance, pixel, size, fluence = 6.2, 300, 0.512, 101, 1e10  # A, mm, mm, pixels, 1/um^2
electron_radius = 2.81794e-9  # um
f1 = {"C": 6.1686, "N": 7.2473, "O": 8.3203, "S": 14.235}  # Henke's, at 2.0 keV
first, last = 8, 21

# Dragonfly's grid
half = pixel * ((size - 1) // 2)
s_max = 2 * np.sin(0.5 * np.arctan(np.hypot(half, half) / distance)) / wavelength
s_pixel = 2 * np.sin(0.5 * np.arctan(pixel / distance)) / wavelength
voxel, span = 0.5 / s_max, 2 * s_max / s_pixel
n = 2 * int(np.ceil(span / 2)) + 3
print(f"{span:.2f} voxels of {voxel:.2f} A span the field of view, the grid has {n}: its fringes lie "
      f"{100 * (n / span - 1):.2f} % further out")

detector = np.loadtxt(f"{data}/dragonfly/prd1/det_sim.dat", skiprows=1)
q, correction, good = detector[:, :3], detector[:, 3], detector[:, 4] < 2
row, column = np.divmod(np.arange(size * size), size)
ring = np.hypot(row - size // 2, column - size // 2).astype(int)


def rings(image):
    counts = np.bincount(ring[good], image[good]) / np.maximum(np.bincount(ring[good]), 1)
    return counts[first:last]


def measured():
    words = np.fromfile(f"{data}/dragonfly/prd1/photons.emc", "<i4")
    images = words[0]
    ones, multi = words[256:256 + images].sum(), words[256 + images:256 + 2 * images].sum()
    lists = words[256 + 2 * images:]
    total = np.bincount(lists[:ones], minlength=size * size).astype(float)
    np.add.at(total, lists[ones:ones + multi], lists[ones + multi:])
    return rings(total / images)


def turns(count):
    """Uniform random rotations."""
    w, x, y, z = (lambda v: v / np.linalg.norm(v, axis=0))(np.random.default_rng(1).normal(size=(4, count)))
    return np.moveaxis(np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                                 [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                                 [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]), 2, 0)


def interpolate(volume, at):
    low = np.floor(at).astype(int)
    part = at - low
    value = 0
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(corner, part, 1 - part), axis=1)
        value = value + weight * volume[tuple((low + corner).T)]
    return value


def sliced(volume, count=600):
    """Mean counts on rings of random slices of intensities (electrons^2), centre in the middle."""
    use = good & (ring < last)
    image = np.zeros(size * size)
    for turn in turns(count):
        image[use] += interpolate(volume, q[use] @ turn.T + volume.shape[0] // 2)
    return rings(image * correction * fluence * electron_radius**2 / count)


def atoms():
    weights, places, rows = [], [], []
    with open(f"{data}/pdb/1W8X.pdb") as lines:
        for line in lines:
            if line[13:18] == "BIOMT":
                rows.append([float(line[24:33]), float(line[34:43]), float(line[44:53]), float(line[58:68])])
            elif line[:6] in ("ATOM  ", "HETATM"):
                weights.append(f1[line[76:78].strip()])
                places.append([float(line[30 + 8 * i:38 + 8 * i]) for i in range(3)])
    copies = np.array(rows).reshape(-1, 3, 4)
    places = np.einsum("cij,aj->cai", copies[:, :, :3], np.array(places)) + copies[:, None, :, 3]
    return np.tile(weights, len(copies)), places.reshape(-1, 3)


def filter_of(length):
    line = np.linspace(-1, 1, length)
    radius2 = sum(np.meshgrid(line**2, line**2, line**2, indexing="ij"))
    return np.fft.ifftshift(np.exp(-radius2))


def dragonfly():
    """Intensities as Dragonfly makes them, from atoms."""
    weights, places = atoms()
    low, high = places.min(axis=0), places.max(axis=0)
    extent = (high - low).max()
    length = int(np.ceil(extent / voxel)) | 1
    at = (places - 0.5 * (high + low - extent)) / voxel
    cell = np.floor(at).astype(int)
    part = at - cell
    density = np.zeros(3 * (length + 1,))
    for corner in np.ndindex(2, 2, 2):
        share = weights * np.prod(np.where(corner, part, 1 - part), axis=1)
        index = np.ravel_multi_index((np.minimum(cell, length - 1) + corner).T, density.shape)
        density += np.bincount(index, share, density.size).reshape(density.shape)
    density = density[:length, :length, :length]
    for _ in range(2):
        density = np.fft.ifftn(filter_of(length) * np.fft.fftn(density)).real
        density *= density > 1e-3
    padded = np.zeros(3 * (n,))
    padded[:length, :length, :length] = density
    return np.abs(np.fft.fftshift(np.fft.fftn(padded)))**2


def simulate(images):
    """The mean of noise-free images of ours, without a beam stop."""
    with open(f"{work}/detector.dat", "w") as out:
        out.write(f"{len(q)} {distance / pixel:.12g} {distance / pixel:.12g}\n")
        np.savetxt(out, np.column_stack([q, correction, 0 * correction]), "%.12e %.12e %.12e %.12e %d")
    with open(f"{work}/simulate.yaml", "w") as out:
        out.write(f"""molecule: {{file: {data}/pdb/1W8X.pdb, b_factor: 0}}
beam: {{photon_energy: {12398.41984 / wavelength}, photons_per_pulse: {fluence * np.pi / 4}, focus_diameter: 1}}
geometry: {{file: {work}/detector.dat}}
simulate: {{images: {images}, noise: none, truth: false, output: {work}/images.h5}}
""")
    subprocess.run([mtip, "-q", "simulate", f"{work}/simulate.yaml"], check=True)
    with h5py.File(f"{work}/images.h5") as file:
        return file["intensities"][:].reshape(images, -1).mean(axis=0, dtype=float)


def profile_of(image):
    """Intensity over the distance from the centre, in pixels."""
    distances, number = np.unique(np.linalg.norm(q, axis=1).round(6), return_inverse=True)
    means = np.bincount(number, image / correction) / np.bincount(number)
    return lambda at: np.interp(at, distances, means)


def through_grid(profile, count=2000):
    """Ours on Dragonfly's grid, deposited and filtered as there.  A trilinear interpolation is on average a
    convolution with a triangle along each axis."""
    random = np.random.default_rng(2)
    step = random.uniform(-0.5, 0.5, (2, count, 3)).sum(axis=0)
    line = np.arange(first - 1, last + 2, 0.1)
    at = step + line[:, None, None] * turns(count)[:, 0]
    deposit = np.prod(np.sinc(at / n), axis=-1)**4
    r = np.linalg.norm(at, axis=-1)
    low_pass = np.exp(-2 * (2 * r / n)**2)**2
    means = np.mean(profile(r * span / n) * deposit * low_pass, axis=1)
    return rings(np.interp(np.linalg.norm(q, axis=1), line, means) * correction)


photons = measured()
image = simulate(600)
profile = profile_of(image)
cases = {"ours": rings(image),
         "ours at its places": rings(profile(np.linalg.norm(q, axis=1) * span / n) * correction),
         "ours through its grid": through_grid(profile),
         "its simulator anew": sliced(dragonfly())}
scales = {name: photons.sum() / model.sum() for name, model in cases.items()}
print("ring  photons  " + "  ".join(f"{name:>21s}" for name in cases) + "  (photons over model)")
for i, count in enumerate(photons):
    ratios = (count / (scales[name] * model[i]) for name, model in cases.items())
    print(f"{first + i:4d}  {count:.5f}  " + "  ".join(f"{ratio:21.3f}" for ratio in ratios))
print("scale          " + "  ".join(f"{scale:21.4f}" for scale in scales.values()))
worst = {name: np.abs(photons / (scales[name] * model) - 1).max() for name, model in cases.items()}
print("worst          " + "  ".join(f"{100 * value:20.1f}%" for value in worst.values()))
agree = worst["ours through its grid"] < 0.1 and worst["its simulator anew"] < 0.1
print("agree within 10 %" if agree else "DISAGREE by more than 10 %")
sys.exit(not agree)
END_PYTHON
exec python3 "$work/prd1.py" "$mtip" "$data" "$work"
