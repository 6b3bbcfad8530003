/* `mtip simulate`: a molecule, a beam and a detector make a data set with known truth. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "commands.h"
#include "core/log.h"
#include "dataset.h"
#include "devices.h"
#include "io_hdf5.h"
#include "molecule.h"
#include "mtip/simulate.h"
#include "text.h"

/* Images are computed in rounds that all ranks share and written in pieces of PIECE: the calls that
   write the file are the same for any number of ranks, and so are its bytes. */
enum { PIECE = 64, MAX_ROUND_BYTES = 512 << 20 };

typedef struct job {
    const config *config;
    comm *world;
    atom *atoms;
    int64_t n_atoms;
    scatter_settings scattering;
    scatter_size size;
    detector *det;
    device *dev; /* NULL where the sum is direct */
    scatter *sc;
    simulate *sim;
    dataset_writer *writer; /* on rank 0 */
    float *images;          /* of a round */
    int64_t *counts;        /* of floats, by rank */
    int64_t n_round;        /* images */
} job;

/* Rank 0 reads, all get the atoms. */
static status load_atoms(job *j)
{
    const config *c = j->config;
    molecule_settings settings;
    molecule *mol = NULL;
    status mine = STATUS_OK;
    if (comm_rank(j->world) == 0) {
        mine = molecule_settings_of(c, &settings);
        if (mine == STATUS_OK) mine = molecule_read(c->molecule.file, &settings, &mol);
    }
    TRY(comm_agree(j->world, mine));
    if (mol) j->n_atoms = mol->n_atoms;
    TRY(comm_broadcast(j->world, &j->n_atoms, 1, COMM_INT64, 0));
    if (mol) {
        j->atoms = mol->atoms;
        mol->atoms = NULL;
        molecule_destroy(mol);
    } else {
        j->atoms = malloc((size_t)j->n_atoms * sizeof *j->atoms);
        if (!j->atoms)
            mine = status_fail(STATUS_RESOURCE, __FILE__, __LINE__, "no memory for %lld atoms",
                               (long long)j->n_atoms);
    }
    TRY(comm_agree(j->world, mine));
    return comm_broadcast(j->world, j->atoms, j->n_atoms * (int64_t)sizeof *j->atoms, COMM_BYTE, 0);
}

/* Photons per square metre of a focus that is evenly lit. */
static double beam_flux(const config *c)
{
    double radius = 0.5e-6 * c->beam.focus_diameter;
    return c->beam.photons_per_pulse / (acos(-1) * radius * radius);
}

static bool use_nufft(const job *j)
{
    const int method = (int)j->config->simulate.method;
    if (method != CONFIG_SUMMATION_AUTO) return method == CONFIG_SUMMATION_NUFFT;
    return scatter_prefers_nufft(j->n_atoms, j->config->simulate.images * j->det->n_pixels);
}

static status make_scatter(job *j)
{
    const detector *det = j->det;
    if (j->dev)
        return scatter_create_nufft(j->dev, j->atoms, j->n_atoms, det->s, det->n_pixels,
                                    &j->scattering, &j->sc);
    return scatter_create_direct(j->atoms, j->n_atoms, det->s, det->n_pixels, &j->scattering,
                                 &j->sc);
}

/* A source so strong that a pixel's count is beyond 32 bits. */
static status check_brightness(const job *j)
{
    const config *c = j->config;
    double most = simulate_brightest_photons(j->sim) * (1 + c->simulate.fluence_jitter);
    if (most <= SIMULATE_MOST_PHOTONS) return STATUS_OK;
    bool scaled = c->simulate.photons_per_image > 0;
    double given = scaled ? c->simulate.photons_per_image : c->beam.photons_per_pulse;
    return config_fail(
        c, scaled ? &c->simulate.photons_per_image : &c->beam.photons_per_pulse,
        "is %g, which gives a pixel up to %.3g photons, more than its 32-bit count can hold; make "
        "it at most %.3g",
        given, most, 0.995 * given * SIMULATE_MOST_PHOTONS / most); /* good after rounding too */
}

static status make_simulation(job *j)
{
    const config *c = j->config;
    const simulate_settings settings = {
        .seed = (uint64_t)c->simulate.seed,
        .flux = beam_flux(c),
        .photons_per_image = c->simulate.photons_per_image,
        .fluence_jitter = c->simulate.fluence_jitter,
        .noise = c->simulate.noise == CONFIG_NOISE_POISSON,
    };
    j->size = scatter_measure(j->atoms, j->n_atoms);
    TRY(make_scatter(j));
    TRY(simulate_create(j->det, j->sc, &settings, &j->sim));
    return check_brightness(j);
}

static void report_sampling(const job *j)
{
    const detector *det = j->det;
    if (!(det->distance > 0) || !(det->pixel_size > 0)) return;
    double pixels = det->wavelength * det->distance / (det->pixel_size * j->size.diameter);
    log_info("sampling: %.2f pixels per speckle (wavelength x distance / (pixel size x diameter))",
             pixels);
    if (pixels < 2)
        log_warning("%.2f pixels per speckle: below 2 the images do not hold all of the particle's "
                    "intensity; make detector.pixel_size smaller or detector.distance larger",
                    pixels);
}

/* Of images that reconstruct can do little with. */
static void warn(const job *j, double mean)
{
    const config *c = j->config;
    if (mean < 1)
        log_warning("%.3g photons per image: most images will be empty; %s", mean,
                    c->simulate.photons_per_image > 0
                        ? "raise simulate.photons_per_image"
                        : "raise beam.photons_per_pulse or lower beam.focus_diameter");
    if (c->grid.diameter > 0 && c->grid.diameter < 0.99 * j->size.diameter)
        log_warning("grid.diameter is %g A, less than the particle's %.1f A; reconstruct would cut "
                    "it off",
                    c->grid.diameter, j->size.diameter);
}

static void report(const job *j)
{
    const detector *det = j->det;
    double edge = detector_s_edge(det), corner = detector_s_corner(det);
    double flux = simulate_flux(j->sim), mean = simulate_mean_photons(j->sim);
    log_info("summing over atoms %s", j->dev ? "through NUFFTs" : "directly");
    log_info("particle: %lld atoms, %.0f electrons, diameter %.1f A, radius of gyration %.1f A",
             (long long)j->n_atoms, j->size.n_electrons, j->size.diameter, j->size.gyration);
    log_info("detector: %lld pixels, wavelength %.4f A, |s| up to %.5f 1/A at the edge (full "
             "period %.2f A) and %.5f 1/A at the corner (%.2f A)",
             (long long)det->n_pixels, det->wavelength, edge, 1 / edge, corner, 1 / corner);
    report_sampling(j);
    log_info(
        "photons: %.4g per image on the whole detector, %.4g outside the beam stop, at %.4g "
        "photons/um^2 (Guinier's estimate without a detector's edge: %.4g)",
        mean, simulate_mean_photons_used(j->sim), 1e-12 * flux,
        simulate_guinier_photons(flux, j->size.n_electrons, det->wavelength, j->size.gyration));
    warn(j, mean);
}

static status allocate_round(job *j)
{
    int n_ranks = comm_size(j->world);
    int64_t image_bytes = j->det->n_pixels * (int64_t)sizeof *j->images;
    int64_t wanted = n_ranks * scatter_batch(j->sc), most = MAX_ROUND_BYTES / image_bytes;
    if (wanted > most) wanted = most;
    j->n_round = (wanted + PIECE - 1) / PIECE * PIECE;
    if (j->n_round < PIECE) j->n_round = PIECE;
    j->images = malloc((size_t)(j->n_round * image_bytes));
    j->counts = malloc((size_t)n_ranks * sizeof *j->counts);
    if (!j->images || !j->counts)
        FAIL(STATUS_RESOURCE, "no memory for %lld images of %lld pixels", (long long)j->n_round,
             (long long)j->det->n_pixels);
    return STATUS_OK;
}

static status prepare(job *j)
{
    TRY(make_simulation(j));
    return allocate_round(j);
}

/* A typing mistake must not cost the structure or the config. */
static status spare_other_files(const char *path)
{
    struct stat about;
    if (stat(path, &about) == 0 && S_ISREG(about.st_mode) && !h5_recognize(path))
        FAIL(STATUS_OUTPUT,
             "%s: exists and is no HDF5 file; choose another simulate.output, or remove it", path);
    return STATUS_OK;
}

static status create_file(job *j, const char *typed)
{
    char *text = NULL;
    TRY(spare_other_files(j->config->simulate.output));
    TRY(config_text(j->config, &text));
    const dataset_atoms truth = {j->atoms, j->n_atoms, j->scattering};
    const dataset_description about = {
        .det = j->det,
        .n_images = j->config->simulate.images,
        .command_line = typed,
        .config_text = text,
        .truth = j->config->simulate.truth ? &truth : NULL,
        .flux = simulate_flux(j->sim),
        .seed = (uint64_t)j->config->simulate.seed,
    };
    status result = dataset_create(j->config->simulate.output, &about, &j->writer);
    free(text);
    return result;
}

static status write_piece(job *j, int64_t first, int64_t count, const float *images)
{
    double quaternions[4 * PIECE], fluences[PIECE];
    for (int64_t i = 0; i < count; i++) {
        simulate_orientation(j->sim, first + i, quaternions + 4 * i);
        fluences[i] = simulate_fluence(j->sim, first + i);
    }
    return dataset_write(j->writer, first, count, images, quaternions, fluences);
}

static status write_round(job *j, int64_t first, int64_t count)
{
    for (int64_t done = 0, n; done < count; done += n) {
        n = count - done < PIECE ? count - done : PIECE;
        TRY(write_piece(j, first + done, n, j->images + done * j->det->n_pixels));
    }
    return STATUS_OK;
}

/* Every rank computes its part of the round; rank 0 gathers and writes. */
static status run_round(job *j, int64_t first, int64_t count)
{
    int n_ranks = comm_size(j->world), rank = comm_rank(j->world);
    for (int r = 0; r < n_ranks; r++)
        j->counts[r] = (count * (r + 1) / n_ranks - count * r / n_ranks) * j->det->n_pixels;
    int64_t begin = count * rank / n_ranks, end = count * (rank + 1) / n_ranks;
    status mine =
        simulate_images(j->sim, first + begin, end - begin, j->images + begin * j->det->n_pixels);
    TRY(comm_agree(j->world, mine));
    TRY(comm_gather(j->world, j->images, j->counts, COMM_SINGLE, 0));
    if (rank == 0) mine = write_round(j, first, count);
    return comm_agree(j->world, mine);
}

static status run(job *j, const char *typed)
{
    TRY(load_atoms(j));
    TRY(comm_agree(j->world, dataset_detector_to_simulate(j->config, &j->det)));
    if (use_nufft(j)) TRY(devices_choose(j->config, j->world, omp_get_max_threads(), &j->dev));
    TRY(comm_agree(j->world, prepare(j)));
    report(j);
    status mine = comm_rank(j->world) == 0 ? create_file(j, typed) : STATUS_OK;
    TRY(comm_agree(j->world, mine));
    int64_t n_images = j->config->simulate.images;
    double start = omp_get_wtime();
    for (int64_t first = 0, count; first < n_images; first += count) {
        count = n_images - first < j->n_round ? n_images - first : j->n_round;
        TRY(run_round(j, first, count));
        log_debug("%lld of %lld images", (long long)(first + count), (long long)n_images);
    }
    if (j->writer) {
        mine = dataset_commit(j->writer);
        j->writer = NULL;
    }
    TRY(comm_agree(j->world, mine));
    log_info("%s: %lld image%s in %.1f s", j->config->simulate.output, (long long)n_images,
             text_plural(n_images), omp_get_wtime() - start);
    return STATUS_OK;
}

static void finish(job *j)
{
    dataset_abandon(j->writer);
    simulate_destroy(j->sim);
    scatter_destroy(j->sc);
    device_destroy(j->dev);
    detector_destroy(j->det);
    free(j->atoms);
    free(j->images);
    free(j->counts);
}

/* As it could be typed again; for the file's attribute of that name. */
static void command_line(const cli *c, char *text, size_t size)
{
    int n = snprintf(text, size, "mtip simulate %s", c->arguments[0]);
    for (int i = 0; i < c->n_sets && n >= 0 && (size_t)n < size; i++)
        n += snprintf(text + n, size - (size_t)n, " --set %s", c->sets[i]);
}

status command_simulate(const cli *c, comm *world)
{
    job j = {.config = &c->config,
             .world = world,
             .scattering = {c->config.beam.photon_energy, c->config.molecule.dispersion,
                            c->config.molecule.absorption}};
    char typed[8192];
    command_line(c, typed, sizeof typed);
    omp_set_num_threads(devices_threads(c->config.parallel.threads, comm_node_size(world)));
    status result = run(&j, typed);
    finish(&j);
    return result;
}
