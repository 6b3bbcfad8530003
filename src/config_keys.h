/* config_keys.h: the one list of settings.

   A line here is all that a new setting needs: the struct, the parser, the errors, --help-config
   and the echo follow from it.  The file is included several times, with the macros defined to
   what is wanted of the list (see config.h and config_schema.c); hence no include guard.

     SECTION(name, meaning) ... END(name)
     INT (section, key, default, min, max, unit, meaning)      int64_t
     REAL(section, key, default, min, max, unit, meaning)      double
     BOOL(section, key, default, meaning)                      bool
     TEXT(section, key, default, meaning)                      char[CONFIG_TEXT_SIZE]
     WORD(section, key, meaning, CONFIG_KEY_FIRST, ...)        an enum

   The words of a WORD are what follows the last underscore of its constants, in lower case; the
   first is the default.  Units are plain ASCII, "" for a pure number. */

/* clang-format off */

SECTION(molecule, "the particle to simulate, or to compare with")
TEXT(molecule, file,              "",        "the structure: PDB, mmCIF or XYZ, gzipped or not")
INT (molecule, model,             1,         1, 1000000, "", "which of several models in the file, by their order")
TEXT(molecule, element,           "",        "of all atoms, in a file of bare coordinates; else the file names them")
BOOL(molecule, hydrogens,         false,     "keep hydrogen atoms")
BOOL(molecule, waters,            false,     "keep water molecules")
BOOL(molecule, assembly,          true,      "build biological assembly 1 where the file describes it, else take the atoms as they are")
REAL(molecule, b_factor,          -1,        -1, 1000, "A^2", "B factor of all atoms; -1: each atom's own, from the file")
BOOL(molecule, dispersion,        true,      "add f', the real part of the anomalous dispersion")
BOOL(molecule, absorption,        false,     "add f'', its imaginary part (the density is then not real)")
END(molecule)

SECTION(beam, "the X-ray pulse")
REAL(beam, photon_energy,         4600,      100, 100000, "eV", "photon energy")
REAL(beam, photons_per_pulse,     1e12,      1, 1e20, "photons", "photons in a pulse")
REAL(beam, focus_diameter,        1.0,       1e-3, 1e4, "um", "diameter of the focus, evenly lit")
WORD(beam, polarization,                     "direction of the electric field",
     CONFIG_POLARIZATION_HORIZONTAL, CONFIG_POLARIZATION_VERTICAL, CONFIG_POLARIZATION_NONE)
END(beam)

SECTION(detector, "what mtip simulate puts behind the particle: a square, centred on the beam; images bring their own")
INT (detector, pixels,            32,        2, 8192, "pixels", "along an edge")
REAL(detector, pixel_size,        1.0,       1e-4, 100, "mm", "edge of a pixel")
REAL(detector, distance,          53.7,      1, 100000, "mm", "from the particle to the detector")
INT (detector, beam_stop,         4,         0, 8192, "pixels", "edge of the central square that is blocked; 0: none")
END(detector)

SECTION(simulate, "what mtip simulate makes")
INT (simulate, images,            1000,      1, 1000000000, "images", "diffraction images, each of one particle in a random orientation")
REAL(simulate, photons_per_image, 0,         0, 1e12, "photons", "mean over the whole detector, before the beam stop; 0: what the beam gives")
REAL(simulate, fluence_jitter,    0,         0, 0.99, "", "the fluence of an image is uniform within 1 +- this")
WORD(simulate, noise,                        "of the counts",
     CONFIG_NOISE_POISSON, CONFIG_NOISE_NONE)
WORD(simulate, method,                       "auto: the cheaper of two ways to sum over the atoms, direct (on the CPU) and nufft",
     CONFIG_SUMMATION_AUTO, CONFIG_SUMMATION_DIRECT, CONFIG_SUMMATION_NUFFT)
BOOL(simulate, truth,             true,      "write the orientations, the fluences and the atoms as well, in datasets of their own")
INT (simulate, seed,              1,         0, INT64_MAX, "", "of the orientations and the noise")
TEXT(simulate, output,            "images.h5", "the data set to write")
END(simulate)

SECTION(data, "the images to reconstruct from")
TEXT(data, file,                  "",        "the data set")
WORD(data, format,                           "auto: what the contents say; spinifel: skopi's, spinifel's and ours; cxi: CXI; dragonfly: its photons in HDF5; dense: any HDF5 dataset of images; emc: Dragonfly's .emc; list: a text file of paths",
     CONFIG_FORMAT_AUTO, CONFIG_FORMAT_SPINIFEL, CONFIG_FORMAT_CXI, CONFIG_FORMAT_DRAGONFLY,
     CONFIG_FORMAT_DENSE, CONFIG_FORMAT_EMC, CONFIG_FORMAT_LIST)
TEXT(data, dataset,               "",        "name of the images in an HDF5 file; empty: where the format has them")
INT (data, first,                 0,         0, INT64_MAX, "", "index of the first image to use")
INT (data, images,                0,         0, INT64_MAX, "images", "how many to use; 0: all")
TEXT(data, mask_file,             "",        "an HDF5 file whose data set 'mask' is 1 on the pixels to use, as far as the data set's own mask allows")
TEXT(data, blacklist,             "",        "a text file with a line for every image, 1 for those to leave out, 0 for the others")
REAL(data, units_per_photon,      1,         1e-12, 1e12, "", "what a photon adds to a pixel in the file")
BOOL(data, corrected,             false,     "the images have been divided by polarization and solid angle already")
INT (data, clip,                  0,         0, 100000, "pixels", "left out along every edge of every panel")
INT (data, bin,                   1,         1, 4096, "pixels", "along an edge of the squares that are summed into one pixel")
REAL(data, max_bad_fraction,      0.1,       0, 1, "", "stop if more of the images than this are unusable (empty, not finite)")
BOOL(data, strict,                false,     "images with a pixel that is NaN, infinite or negative are an error; else they are left out and counted")
END(data)

SECTION(geometry, "where the pixels are, for images whose file does not say, or instead of what it says; a file is the detector of mtip simulate, too")
TEXT(geometry, file,              "",        "CrystFEL's .geom, a detector file of Dragonfly (HDF5 or text), or panel vectors in JSON")
REAL(geometry, photon_energy,     0,         0, 100000, "eV", "0: as the files say")
REAL(geometry, distance,          0,         0, 100000, "mm", "from the particle to the detector; 0: as the files say")
REAL(geometry, pixel_size,        0,         0, 100, "mm", "edge of a pixel of a flat detector; 0: as the files say")
REAL(geometry, centre_column,     -1,        -1, 100000, "pixels", "column at which the beam meets a flat detector, 0 is the centre of the first; -1: the middle")
REAL(geometry, centre_row,        -1,        -1, 100000, "pixels", "row at which it does; -1: the middle")
END(geometry)

SECTION(grid, "the box that holds the particle and its autocorrelation")
INT (grid, size,                  41,        8, 1024, "voxels", "along an edge; any number")
REAL(grid, diameter,              0,         0, 1e5, "A", "largest diameter of the particle; reconstruct needs it")
END(grid)

SECTION(nufft, "nonuniform Fourier transforms")
REAL(nufft, tolerance,            1e-4,      1e-15, 0.1, "", "relative l2 error")
REAL(nufft, upsampling,           0,         0, 2, "", "fine grid over modes: 2 or 1.25; 0: chosen")
END(nufft)

SECTION(slice, "reference slices of the model")
INT (slice, references,           6000,      1, 1000000000, "rotations", "reference orientations at full resolution; fewer before")
INT (slice, final_references,     24000,     1, 1000000000, "rotations", "reference orientations in the final generations")
INT (slice, batch,                0,         0, 1000000, "rotations", "slices computed together; 0: chosen")
END(slice)

SECTION(match, "orientations from comparing images with slices")
WORD(match, method,                          "emc: posterior over all references, Poisson likelihood; ncc, l2: the best reference only",
     CONFIG_METHOD_EMC, CONFIG_METHOD_NCC, CONFIG_METHOD_L2)
REAL(match, memory,               0,         0, 1e7, "MB", "of a rank for scores kept between two passes, beyond it they are computed again; 0: 1,000, or a quarter of what a GPU has")
BOOL(match, tensor_cores,         true,      "on a GPU in single precision, products of counts up to 2048 with sums of two half-precision numbers")
REAL(match, perplexity_start,     0.05,      1e-9, 1, "", "effective number of references of an image at the start, as a fraction of all")
REAL(match, perplexity_end,       1.5,       1, 1e9, "references", "the same at the end, as a number")
REAL(match, anneal,               0.7,       0, 1, "", "fraction of the generations over which the perplexity falls")
BOOL(match, fluence_update,       true,      "estimate the fluence of each image")
END(match)

SECTION(merge, "the intensity from images with orientations")
INT (merge, iterations,           20,        1, 100000, "", "of conjugate gradients, at most")
REAL(merge, tolerance,            1e-4,      0, 0.1, "", "relative residual at which they stop")
REAL(merge, lambda,               1e-3,      0, 10, "", "regularisation, as a fraction of the sum of the weights")
END(merge)

SECTION(phase, "the density from the intensity")
WORD(phase, method,                          "of the steps between those of error reduction",
     CONFIG_PHASING_HIO, CONFIG_PHASING_RAAR)
INT (phase, starts,               20,        1, 100000, "", "independent starts of the final density, which averages the consistent ones")
INT (phase, generation_starts, 4,         1, 100000, "", "independent starts of the density of a generation, averaged; one continues from the density before")
INT (phase, loops,                3,         1, 100000, "", "of error reduction, method, error reduction, shrinkwrap in a generation")
INT (phase, final_loops,       5,         1, 100000, "", "the same for the final density")
INT (phase, er,                   50,        0, 1000000, "", "error reduction steps before and after those of the method")
INT (phase, hio,                  25,        0, 1000000, "", "steps of the method")
REAL(phase, beta,                 0.9,       0, 2, "", "feedback of the method")
REAL(phase, shrinkwrap_sigma,     1.0,       0, 100, "voxels", "width of the blur of shrinkwrap")
REAL(phase, shrinkwrap_threshold, 0.1,       0, 0.5, "", "the support is where the blurred density exceeds this fraction of its maximum")
END(phase)

SECTION(run, "the run as a whole")
TEXT(run, directory,              "run",     "where all results go")
WORD(run, precision,                         "of the computation",
     CONFIG_PRECISION_SINGLE, CONFIG_PRECISION_DOUBLE)
INT (run, seed,                   1,         0, INT64_MAX, "", "of every random number")
BOOL(run, deterministic,          false,     "the same bits for any number of ranks and threads (CPU; slower)")
INT (run, generations,         20,        2, 100000, "", "of slice, match, merge and phase; the first has random orientations")
INT (run, final_generations,      4,         1, 100000, "", "more of them, at full resolution with slice.final_references")
REAL(run, resolution_start,       0.3,       0.01, 1, "", "resolution of the first generation, as a fraction of the largest |s| of the data")
REAL(run, march,                  0.6,       0, 1, "", "fraction of the generations after which the resolution is full")
INT (run, attempts,               2,         1, 1000, "", "whole reconstructions from different random starts; the best one counts")
REAL(run, checkpoint_minutes,     10,        0, 1e6, "min", "at least this long between two checkpoints; 0: none for the time alone")
INT (run, checkpoint_generations, 0,         0, 100000, "", "a checkpoint after this many generations as well; 0: none for the number alone")
REAL(run, hang_timeout,           3600,      0, 1e7, "s", "without any progress, after which the run is ended; 0: never")
BOOL(run, check_invariants,    false,     "recompute samples of every stage on the host and test what must be conserved, against devices that compute wrongly")
BOOL(run, true_orientations,      false,     "start from the orientations stored in the data (for comparisons)")
END(run)

SECTION(parallel, "how the work is spread")
INT (parallel, threads,           0,         0, 4096, "threads", "OpenMP threads of a rank; 0: OMP_NUM_THREADS, or unset: its share of the cores that it may run on")
WORD(parallel, read,                         "direct: every rank reads its own images; scatter: rank 0 reads all and sends",
     CONFIG_READ_DIRECT, CONFIG_READ_SCATTER)
WORD(parallel, backend,                      "auto: a GPU if there is one",
     CONFIG_BACKEND_AUTO, CONFIG_BACKEND_CPU, CONFIG_BACKEND_CUDA)
END(parallel)

/* clang-format on */

#undef SECTION
#undef END
#undef INT
#undef REAL
#undef BOOL
#undef TEXT
#undef WORD
