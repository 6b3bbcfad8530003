#include "mtip/simulate.h"

#include "mtip/random.h"
#include "mtip/rotation.h"
#include <math.h>
#include <stdlib.h>

/* Bytes of intensities that are held at once, at most. */
enum { BATCH_BYTES = 1 << 29 };

struct simulate {
    simulate_settings settings;
    const detector *det;
    scatter *sc;
    double flux, mean, mean_used, brightest;
};

/* Photons per unit of flux and |F|^2. */
static double pixel_gain(const detector *det, int64_t p)
{
    double r_e = PHYSICS_ELECTRON_RADIUS;
    return r_e * r_e * det->polarization[p] * det->solid_angle[p];
}

/* Room for the orientations and intensities of as many of `count` images as are best done at once;
   the caller frees both. */
static status allocate_batch(const simulate *sim, int64_t count, int64_t *batch,
                             double **quaternions, double **intensities)
{
    int64_t n_pixels = sim->det->n_pixels,
            fit = BATCH_BYTES / (n_pixels * (int64_t)sizeof **intensities);
    *batch = scatter_batch(sim->sc);
    if (*batch > count) *batch = count;
    if (*batch > fit) *batch = fit > 1 ? fit : 1;
    *quaternions = malloc((size_t)(4 * *batch + 1) * sizeof **quaternions);
    *intensities = malloc((size_t)(*batch * n_pixels + 1) * sizeof **intensities);
    if (*quaternions && *intensities) return STATUS_OK;
    free(*quaternions);
    free(*intensities);
    FAIL(STATUS_RESOURCE, "no memory for %lld images of %lld pixels", (long long)*batch,
         (long long)n_pixels);
}

/* Of these images, out of SIMULATE_MEAN_ORIENTATIONS, at unit flux. */
static void add_means(simulate *sim, int64_t count, const double *intensities)
{
    int64_t n_pixels = sim->det->n_pixels;
    for (int64_t p = 0; p < n_pixels; p++) {
        double sum = 0, largest = 0, gain = pixel_gain(sim->det, p);
        for (int64_t i = 0; i < count; i++) {
            sum += intensities[i * n_pixels + p];
            largest = fmax(largest, intensities[i * n_pixels + p]);
        }
        double photons = gain * sum / SIMULATE_MEAN_ORIENTATIONS;
        sim->mean += photons;
        if (!sim->det->mask[p]) continue;
        sim->mean_used += photons;
        sim->brightest = fmax(sim->brightest, gain * largest);
    }
}

/* Photons at unit flux, from orientations that cover SO(3) evenly. */
static status measure_means(simulate *sim)
{
    enum { N = SIMULATE_MEAN_ORIENTATIONS };
    int64_t batch;
    double *quaternions, *intensities;
    status result = STATUS_OK;
    TRY(allocate_batch(sim, N, &batch, &quaternions, &intensities));
    for (int64_t first = 0, n; first < N && result == STATUS_OK; first += n) {
        n = N - first < batch ? N - first : batch;
        rotation_cover(N, first, n, NULL, quaternions);
        result = scatter_intensities(sim->sc, quaternions, n, intensities);
        if (result == STATUS_OK) add_means(sim, n, intensities);
    }
    free(quaternions);
    free(intensities);
    return result;
}

static status set_flux(simulate *sim)
{
    const simulate_settings *set = &sim->settings;
    TRY(measure_means(sim));
    if (!(sim->mean > 0))
        FAIL(STATUS_INPUT, "the particle scatters no photons into the detector; check the "
                           "occupancies and B factors of its atoms");
    sim->flux = set->photons_per_image > 0 ? set->photons_per_image / sim->mean : set->flux;
    sim->mean *= sim->flux;
    sim->mean_used *= sim->flux;
    sim->brightest *= sim->flux;
    return STATUS_OK;
}

status simulate_create(const detector *det, scatter *sc, const simulate_settings *settings,
                       simulate **created)
{
    *created = NULL;
    if (scatter_n_pixels(sc) != det->n_pixels)
        FAIL(STATUS_INVALID, "form factors of %lld pixels for a detector of %lld",
             (long long)scatter_n_pixels(sc), (long long)det->n_pixels);
    simulate *sim = calloc(1, sizeof *sim);
    if (!sim) FAIL(STATUS_RESOURCE, "no memory for the simulation");
    sim->settings = *settings;
    sim->det = det;
    sim->sc = sc;
    status result = set_flux(sim);
    if (result == STATUS_OK)
        *created = sim;
    else
        free(sim);
    return result;
}

void simulate_destroy(simulate *sim)
{
    free(sim);
}

double simulate_flux(const simulate *sim)
{
    return sim->flux;
}

double simulate_mean_photons(const simulate *sim)
{
    return sim->mean;
}

double simulate_mean_photons_used(const simulate *sim)
{
    return sim->mean_used;
}

double simulate_brightest_photons(const simulate *sim)
{
    return sim->brightest;
}

double simulate_guinier_photons(double flux, double n_electrons, double wavelength, double gyration)
{
    double per_electron = PHYSICS_ELECTRON_RADIUS * n_electrons * wavelength / gyration;
    return 3 / (4 * acos(-1)) * flux * per_electron * per_electron;
}

void simulate_orientation(const simulate *sim, int64_t index, double quaternion[4])
{
    random_stream stream;
    random_start(&stream, sim->settings.seed, RANDOM_ORIENTATION, (uint64_t)index, 0);
    double u[3];
    for (int d = 0; d < 3; d++)
        u[d] = random_uniform(&stream);
    rotation_uniform(u, quaternion);
}

double simulate_fluence(const simulate *sim, int64_t index)
{
    random_stream stream;
    random_start(&stream, sim->settings.seed, RANDOM_FLUENCE, (uint64_t)index, 0);
    return 1 + sim->settings.fluence_jitter * (2 * random_uniform(&stream) - 1);
}

static void count_photons(const simulate *sim, int64_t index, const double *intensities,
                          float *image)
{
    double scale = sim->flux * simulate_fluence(sim, index);
    for (int64_t p = 0; p < sim->det->n_pixels; p++) {
        double mean = sim->det->mask[p] ? scale * pixel_gain(sim->det, p) * intensities[p] : 0;
        if (sim->settings.noise) {
            random_stream stream;
            random_start(&stream, sim->settings.seed, RANDOM_PHOTONS, (uint64_t)index, (uint64_t)p);
            image[p] = (float)random_poisson(&stream, mean);
        } else {
            image[p] = (float)mean;
        }
    }
}

status simulate_images(const simulate *sim, int64_t first, int64_t count, float *images)
{
    int64_t n_pixels = sim->det->n_pixels, batch;
    double *quaternions, *intensities, most = sim->brightest * (1 + sim->settings.fluence_jitter);
    status result = STATUS_OK;
    if (!(most <= SIMULATE_MOST_PHOTONS))
        FAIL(STATUS_INVALID, "%g photons in a pixel are too many", most);
    TRY(allocate_batch(sim, count, &batch, &quaternions, &intensities));
    for (int64_t begin = 0, n; begin < count; begin += n) {
        n = count - begin < batch ? count - begin : batch;
        for (int64_t i = 0; i < n; i++)
            simulate_orientation(sim, first + begin + i, quaternions + 4 * i);
        result = scatter_intensities(sim->sc, quaternions, n, intensities);
        if (result != STATUS_OK) break;
#pragma omp parallel for
        for (int64_t i = 0; i < n; i++)
            count_photons(sim, first + begin + i, intensities + i * n_pixels,
                          images + (begin + i) * n_pixels);
    }
    free(quaternions);
    free(intensities);
    return result;
}
