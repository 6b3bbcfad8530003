"""Dragonfly's photons of PRD1 against this program; started by prd1.sh.

simulation: mean counts on rings of 8 to 20 pixels.  Dragonfly lays the particle on a grid whose Fourier voxel
it takes for a pixel: N voxels of half its finest period, N = 2 ceil(n / 2) + 3, where n of them span the field
of view (make_intensities.py), so that its photons are those of a particle n / N times the size.  Its density is
made by trilinear deposit, then filtered (make_densities.py, process_pdb.py); slices are interpolated
trilinearly (make_data.c).  Shown are: ours as they are; ours at the places of its grid; ours through its grid,
deposit, filter and interpolation; its simulator written anew, from atoms to counts.  The last two have to
agree with the photons within 10 % after one scale.

mini: whether a map made from one half of the images is better than its spherical average: by the Fourier
shell correlation of both with the map of the other half, and by the likelihood of the other half's images.
The likelihood is the mean over photons of the logarithm of the probability of the pixel that each fell into,
orientations being summed over (10,000 random ones, all alike).
"""
import subprocess
import sys

import h5py
import numpy as np

wavelength, distance = 6.2, 300  # A, mm
electron_radius = 2.81794e-9  # um


# ---- what both parts need

def photons_of(path):
    """Images of a sparse .emc file."""
    words = np.fromfile(path, "<i4")
    n_images, n_pixels = words[:2]
    ones, multi = np.split(words[256:256 + 2 * n_images], 2)
    lists = words[256 + 2 * n_images:]
    place_one, place, count = np.split(lists, [ones.sum(), ones.sum() + multi.sum()])
    images = np.zeros((n_images, n_pixels))
    images[np.repeat(np.arange(n_images), ones), place_one] = 1
    images[np.repeat(np.arange(n_images), multi), place] = count
    return images


def detector_of(path):
    """Places in voxels, the Ewald sphere's radius in voxels, correction factors, good pixels."""
    with h5py.File(path) as file:
        places = np.stack([file["qx"][:], file["qy"][:], file["qz"][:]], axis=-1)
        return places, file["ewald_rad"][()], file["corr"][:], file["mask"][:] < 2


def turns(count):
    """Uniform random rotations."""
    normal = np.random.default_rng(1).normal(size=(4, count))
    w, x, y, z = normal / np.linalg.norm(normal, axis=0)
    return np.moveaxis(np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                                 [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                                 [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]), 2, 0)


def interpolate(volume, at):
    """Values of a periodic volume, trilinear."""
    low = np.floor(at).astype(int)
    part = at - low
    value = 0
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(corner, part, 1 - part), axis=1)
        value = value + weight * volume[tuple((low + corner).T % len(volume))]
    return value


# ---- simulation

class simulation:
    pixel, size, fluence = 0.512, 101, 1e10  # mm, pixels, 1/um^2
    f1 = {"C": 6.1686, "N": 7.2473, "O": 8.3203, "S": 14.235}  # Henke's, at 2.0 keV
    first, last = 8, 21

    def __init__(self, data, mtip, work):
        self.data, self.mtip, self.work = data, mtip, work
        half = self.pixel * ((self.size - 1) // 2)
        s_max = 2 * np.sin(0.5 * np.arctan(np.hypot(half, half) / distance)) / wavelength
        s_pixel = 2 * np.sin(0.5 * np.arctan(self.pixel / distance)) / wavelength
        self.voxel, self.span = 0.5 / s_max, 2 * s_max / s_pixel
        self.n = 2 * int(np.ceil(self.span / 2)) + 3
        self.q, self.ewald, self.correction, self.good = detector_of(f"{data}/dragonfly/prd1/det_sim.h5")
        row, column = np.divmod(np.arange(self.size**2), self.size)
        self.ring = np.hypot(row - self.size // 2, column - self.size // 2).astype(int)

    def rings(self, image):
        ring = self.ring[self.good]
        return (np.bincount(ring, image[self.good]) / np.maximum(np.bincount(ring), 1))[self.first:self.last]

    def sliced(self, volume, count=600):
        """Rings of random slices of intensities (electrons^2), centre in the middle."""
        use = self.good & (self.ring < self.last)
        image = np.zeros(self.size**2)
        for turn in turns(count):
            image[use] += interpolate(volume, self.q[use] @ turn.T + len(volume) // 2)
        return self.rings(image * self.correction * self.fluence * electron_radius**2 / count)

    def atoms(self):
        weights, places, rows = [], [], []
        with open(f"{self.data}/pdb/1W8X.pdb") as lines:
            for line in lines:
                if line[13:18] == "BIOMT":
                    rows.append([float(line[i:j]) for i, j in ((24, 33), (34, 43), (44, 53), (58, 68))])
                elif line[:6] in ("ATOM  ", "HETATM"):
                    weights.append(self.f1[line[76:78].strip()])
                    places.append([float(line[30 + 8 * i:38 + 8 * i]) for i in range(3)])
        copies = np.array(rows).reshape(-1, 3, 4)
        places = np.einsum("cij,aj->cai", copies[:, :, :3], np.array(places)) + copies[:, None, :, 3]
        return np.tile(weights, len(copies)), places.reshape(-1, 3)

    def dragonfly(self):
        """Intensities as Dragonfly makes them, from atoms."""
        weights, places = self.atoms()
        low, high = places.min(axis=0), places.max(axis=0)
        extent = (high - low).max()
        length = int(np.ceil(extent / self.voxel)) | 1
        at = (places - 0.5 * (high + low - extent)) / self.voxel
        cell = np.floor(at).astype(int)
        part = at - cell
        density = np.zeros(3 * (length + 1,))
        for corner in np.ndindex(2, 2, 2):
            share = weights * np.prod(np.where(corner, part, 1 - part), axis=1)
            index = np.ravel_multi_index((np.minimum(cell, length - 1) + corner).T, density.shape)
            density += np.bincount(index, share, density.size).reshape(density.shape)
        density = density[:length, :length, :length]
        line = np.linspace(-1, 1, length)**2
        low_pass = np.fft.ifftshift(np.exp(-sum(np.meshgrid(line, line, line, indexing="ij"))))
        for _ in range(2):
            density = np.fft.ifftn(low_pass * np.fft.fftn(density)).real
            density *= density > 1e-3
        padded = np.zeros(3 * (self.n,))
        padded[:length, :length, :length] = density
        return np.abs(np.fft.fftshift(np.fft.fftn(padded)))**2

    def simulate(self, images):
        """The mean of noise-free images of ours, without a beam stop."""
        with open(f"{self.work}/detector.dat", "w") as out:
            out.write(f"{len(self.q)} {self.ewald:.12g} {self.ewald:.12g}\n")
            columns = np.column_stack([self.q, self.correction, 0 * self.correction])
            np.savetxt(out, columns, "%.12e %.12e %.12e %.12e %d")
        with open(f"{self.work}/simulate.yaml", "w") as out:
            out.write(f"""molecule: {{file: {self.data}/pdb/1W8X.pdb, b_factor: 0}}
beam:
  photon_energy: {12398.41984 / wavelength}
  photons_per_pulse: {self.fluence * np.pi / 4}
  focus_diameter: 1
geometry: {{file: {self.work}/detector.dat}}
simulate: {{images: {images}, noise: none, truth: false, output: {self.work}/images.h5}}
""")
        subprocess.run([self.mtip, "-q", "simulate", f"{self.work}/simulate.yaml"], check=True)
        with h5py.File(f"{self.work}/images.h5") as file:
            return file["intensities"][:].reshape(images, -1).mean(axis=0, dtype=float)

    def profile_of(self, image):
        """Intensity over the distance from the centre, in pixels."""
        distances, number = np.unique(np.linalg.norm(self.q, axis=1).round(6), return_inverse=True)
        means = np.bincount(number, image / self.correction) / np.bincount(number)
        return lambda at: np.interp(at, distances, means)

    def through_grid(self, profile, count=2000):
        """Ours on Dragonfly's grid, deposited and filtered as there.  A trilinear interpolation is on average
        a convolution with a triangle along each axis."""
        step = np.random.default_rng(2).uniform(-0.5, 0.5, (2, count, 3)).sum(axis=0)
        line = np.arange(self.first - 1, self.last + 2, 0.1)
        at = step + line[:, None, None] * turns(count)[:, 0]
        deposit = np.prod(np.sinc(at / self.n), axis=-1)**4
        r = np.linalg.norm(at, axis=-1)
        low_pass = np.exp(-2 * (2 * r / self.n)**2)**2
        means = np.mean(profile(r * self.span / self.n) * deposit * low_pass, axis=1)
        return self.rings(np.interp(np.linalg.norm(self.q, axis=1), line, means) * self.correction)

    def judge(self):
        print(f"{self.span:.2f} voxels of {self.voxel:.2f} A span the field of view, the grid has {self.n}: its "
              f"fringes lie {100 * (self.n / self.span - 1):.2f} % further out")
        photons = self.rings(photons_of(f"{self.data}/dragonfly/prd1/photons.emc").mean(axis=0))
        image = self.simulate(600)
        profile = self.profile_of(image)
        at_places = profile(np.linalg.norm(self.q, axis=1) * self.span / self.n) * self.correction
        models = {"ours": self.rings(image), "ours at its places": self.rings(at_places),
                  "ours through its grid": self.through_grid(profile),
                  "its simulator anew": self.sliced(self.dragonfly())}
        scales = {name: photons.sum() / model.sum() for name, model in models.items()}
        ratios = {name: photons / (scales[name] * model) for name, model in models.items()}
        print("ring photons " + "".join(f"{name:>23s}" for name in models) + "  (photons over model)")
        for i, count in enumerate(photons):
            row = "".join(f"{ratio[i]:23.3f}" for ratio in ratios.values())
            print(f"{self.first + i:4d} {count:.5f} {row}")
        worst = {name: np.abs(ratio - 1).max() for name, ratio in ratios.items()}
        print("scale        " + "".join(f"{scale:23.4f}" for scale in scales.values()))
        print("worst        " + "".join(f"{100 * value:22.1f}%" for value in worst.values()))
        return worst["ours through its grid"] < 0.1 and worst["its simulator anew"] < 0.1


# ---- mini

def map_of(path):
    """A cube in MRC's mode 2, and its voxel in Angstrom."""
    with open(path, "rb") as file:
        head = file.read(1024)
        n = np.frombuffer(head, "<i4", 1)[0]
        return np.frombuffer(file.read(), "<f4").reshape(n, n, n).astype(float), \
            np.frombuffer(head, "<f4", 1, 40)[0] / n


class mini:
    def __init__(self, data, run):
        self.images = photons_of(f"{data}/dragonfly/prd1_mini/photons.emc")
        places, ewald, correction, good = detector_of(f"{data}/dragonfly/prd1_mini/det_sim.h5")
        self.images, self.correction = self.images[:, good], correction[good]
        self.s = places[good] / (ewald * wavelength)
        with h5py.File(f"{run}/result.h5") as file:
            if not np.array_equal(file["image"][:], np.arange(len(self.images))):
                raise SystemExit("not all images were used: which are in a half?")
        maps = [map_of(f"{run}/density_half{half}.mrc") for half in (1, 2)]
        self.half, self.voxel = [density for density, _ in maps], maps[0][1]
        self.n = len(self.half[0])
        grid = np.indices(self.half[0].shape) - self.n // 2
        self.grid, self.squared = grid, np.sum(grid**2, axis=0)

    def modes(self, density):
        """Of the map about its centre of mass."""
        centre = [np.sum(density * self.grid[i]) / np.sum(density) for i in range(3)]
        phase = np.exp(2j * np.pi / self.n * np.tensordot(centre, self.grid, 1))
        return np.fft.fftshift(np.fft.fftn(np.fft.ifftshift(density))) * phase

    def sphere(self, modes):
        """The spherical average: real means over equal |k|, smoothed linearly over one voxel."""
        r = np.sqrt(self.squared).ravel()
        low, part = np.floor(r).astype(int), r % 1
        index, weight = np.concatenate([low, low + 1]), np.concatenate([1 - part, part])
        means = np.bincount(index, weight * np.tile(modes.real.ravel(), 2)) / np.bincount(index, weight)
        return ((1 - part) * means[low] + part * means[low + 1]).reshape(modes.shape)

    def correlation(self, a, b):
        shell = np.rint(np.sqrt(self.squared)).astype(int).ravel()

        def total(values):
            return np.bincount(shell, values.ravel())[1:self.n // 2 + 1]

        return total((a * b.conj()).real) / np.sqrt(total(np.abs(a)**2) * total(np.abs(b)**2))

    def shells(self):
        """Correlations by shell: of the halves; of one's sphere with the other half, the mean of both ways; of
        what the halves have beyond their spheres."""
        a, b = (self.modes(density) for density in self.half)
        sphere_a, sphere_b = self.sphere(a), self.sphere(b)
        spheres = (self.correlation(sphere_a, b) + self.correlation(a, sphere_b)) / 2
        return self.correlation(a, b), spheres, self.correlation(a - sphere_a, b - sphere_b)

    def slices(self, density, count=10000):
        """Expected counts in random orientations, up to a factor."""
        pad = 4 * self.n
        padded = np.zeros(3 * (pad,))
        at = slice(pad // 2 - self.n // 2, pad // 2 - self.n // 2 + self.n)
        padded[at, at, at] = density
        intensity = np.abs(np.fft.fftshift(np.fft.fftn(np.fft.ifftshift(padded))))**2
        places = self.s[:, ::-1] * self.voxel * pad
        rows = [interpolate(intensity, places @ turn.T + pad // 2) for turn in turns(count)]
        return np.array(rows) * self.correction

    def likelihood(self, model, images):
        """Per photon; model [orientations][pixels]."""
        model = np.maximum(model, 1e-3 * model.mean())  # a pixel is never certain to stay dark
        score = images @ np.log(model / model.sum(axis=1, keepdims=True)).T
        best = score.max(axis=1, keepdims=True)
        return np.sum(best[:, 0] + np.log(np.mean(np.exp(score - best), axis=1))) / images.sum()

    def measured_sphere(self, images):
        """Mean counts of images on rings of equal |s|."""
        r = np.linalg.norm(self.s, axis=1)
        ring = np.rint(200 * r / r.max()).astype(int)
        counts, weights = np.bincount(ring, images.mean(axis=0)), np.bincount(ring, self.correction)
        return (counts[ring] / weights[ring] * self.correction)[None]

    def judge(self):
        halves, spheres, rest = self.shells()
        print("    d[A]  halves  sphere  beyond   (correlation of the halves; of a sphere and the other half; of "
              "what is beyond the spheres)")
        for i, row in enumerate(zip(halves, spheres, rest)):
            print(f"{self.n * self.voxel / (i + 1):8.1f}" + "".join(f"{value:8.3f}" for value in row))
        of_halves, of_spheres = (self.n * self.voxel / (np.argmax(np.append(curve, 0) < 0.5) + 1)
                                 for curve in (halves, spheres))
        print(f"first shell below 0.5: halves {of_halves:.1f} A, sphere {of_spheres:.1f} A")
        better = of_halves < of_spheres
        for half in (0, 1):
            train, test = self.images[half::2], self.images[1 - half::2]
            model = self.slices(self.half[half])
            values = [self.likelihood(table, test)
                      for table in (model, model.mean(axis=0)[None], self.measured_sphere(train))]
            gain = (values[0] - max(values[1:])) * test.sum() / len(test)
            print(f"half {half + 1}, images of the other: log-likelihood per photon {values[0]:.5f}, its spherical "
                  f"average {values[1]:.5f}, that of its images {values[2]:.5f}; {gain:+.1f} an image")
            better = better and values[0] > max(values[1:])
        return bool(better)


part = {"simulation": simulation, "mini": mini}[sys.argv[1]](*sys.argv[2:])
agrees = part.judge()
print("good" if agrees else "NOT good")
sys.exit(not agrees)
