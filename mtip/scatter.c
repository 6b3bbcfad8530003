#include "mtip/scatter.h"

#include "mtip/scatter_parts.h"

#include <math.h>
#include <stdlib.h>

/* One of the two. */
struct scatter {
    int64_t n_pixels;
    scatter_direct *direct;
    scatter_nufft *nufft;
};

/* The largest distance between two points is the largest width over all directions; these are a
   golden spiral over half a sphere, no direction further than 0.1 rad from one of them. */
static double largest_width(const atom *atoms, int64_t n_atoms)
{
    enum { N_DIRECTIONS = 600 };
    double widest = 0;
#pragma omp parallel for reduction(max : widest)
    for (int i = 0; i < N_DIRECTIONS; i++) {
        double z = (i + 0.5) / N_DIRECTIONS, angle = i * 2.399963229728653, rho = sqrt(1 - z * z);
        double x = rho * cos(angle), y = rho * sin(angle), least = INFINITY, most = -INFINITY;
        for (int64_t j = 0; j < n_atoms; j++) {
            const double *r = atoms[j].position;
            double along = x * r[0] + y * r[1] + z * r[2];
            if (along < least) least = along;
            if (along > most) most = along;
        }
        if (most - least > widest) widest = most - least;
    }
    return widest;
}

double scatter_length(const double s[3])
{
    return sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
}

static double distance_squared(const double a[3], const double b[3])
{
    double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
}

double scatter_find_centre(const atom *atoms, int64_t n_atoms, double centre[3])
{
    double moment[3] = {0}, n_electrons = 0;
    for (int64_t j = 0; j < n_atoms; j++) {
        double weight = atoms[j].occupancy * atoms[j].element;
        n_electrons += weight;
        for (int d = 0; d < 3; d++)
            moment[d] += weight * atoms[j].position[d];
    }
    for (int d = 0; d < 3; d++)
        centre[d] = n_electrons > 0 ? moment[d] / n_electrons : 0;
    return n_electrons;
}

double scatter_radius(const atom *atoms, int64_t n_atoms, const double centre[3])
{
    double square = 0;
    for (int64_t j = 0; j < n_atoms; j++)
        square = fmax(square, distance_squared(atoms[j].position, centre));
    return sqrt(square);
}

scatter_size scatter_measure(const atom *atoms, int64_t n_atoms)
{
    scatter_size size = {0};
    double square = 0;
    size.n_electrons = scatter_find_centre(atoms, n_atoms, size.centre);
    for (int64_t j = 0; j < n_atoms; j++) {
        double r2 = distance_squared(atoms[j].position, size.centre);
        square += atoms[j].occupancy * atoms[j].element * r2;
    }
    if (size.n_electrons > 0) size.gyration = sqrt(square / size.n_electrons);
    size.radius = scatter_radius(atoms, n_atoms, size.centre);
    size.diameter = largest_width(atoms, n_atoms);
    return size;
}

status scatter_count_elements(const atom *atoms, int64_t n_atoms,
                              int64_t counts[SCATTER_MAX_ELEMENT])
{
    for (int element = 0; element < SCATTER_MAX_ELEMENT; element++)
        counts[element] = 0;
    for (int64_t j = 0; j < n_atoms; j++) {
        int element = atoms[j].element;
        if (element < 1 || element >= SCATTER_MAX_ELEMENT)
            FAIL(STATUS_INPUT, "atom %lld has atomic number %d", (long long)j, element);
        counts[element]++;
    }
    return STATUS_OK;
}

static status check_counts(int64_t n_atoms, int64_t n_pixels)
{
    if (n_atoms < 1 || n_pixels < 1)
        FAIL(STATUS_INVALID, "%lld atoms and %lld pixels", (long long)n_atoms, (long long)n_pixels);
    return STATUS_OK;
}

/* Takes what was made over, or destroys it. */
static status wrap(int64_t n_pixels, scatter_direct *direct, scatter_nufft *nufft,
                   scatter **created)
{
    *created = malloc(sizeof **created);
    if (*created) {
        **created = (scatter){n_pixels, direct, nufft};
        return STATUS_OK;
    }
    scatter_direct_destroy(direct);
    scatter_nufft_destroy(nufft);
    FAIL(STATUS_RESOURCE, "no memory for the atoms");
}

status scatter_create_direct(const atom *atoms, int64_t n_atoms, const double *s, int64_t n_pixels,
                             const scatter_settings *settings, scatter **created)
{
    scatter_direct *direct;
    *created = NULL;
    TRY(check_counts(n_atoms, n_pixels));
    TRY(scatter_direct_create(atoms, n_atoms, s, n_pixels, settings, &direct));
    return wrap(n_pixels, direct, NULL, created);
}

status scatter_create_nufft(const device *dev, const atom *atoms, int64_t n_atoms, const double *s,
                            int64_t n_pixels, const scatter_settings *settings, scatter **created)
{
    scatter_nufft *nufft;
    *created = NULL;
    TRY(check_counts(n_atoms, n_pixels));
    TRY(scatter_nufft_create(dev, atoms, n_atoms, s, n_pixels, settings, &nufft));
    return wrap(n_pixels, NULL, nufft, created);
}

bool scatter_prefers_nufft(int64_t n_atoms, int64_t n_points)
{
    static const double pixel_worth = 500, start_worth = 2e8; /* in atoms, summed directly */
    double points = (double)n_points;
    return (double)n_atoms * points > pixel_worth * points + start_worth;
}

void scatter_destroy(scatter *sc)
{
    if (!sc) return;
    scatter_direct_destroy(sc->direct);
    scatter_nufft_destroy(sc->nufft);
    free(sc);
}

status scatter_intensities(scatter *sc, const double *quaternions, int64_t count,
                           double *intensities)
{
    if (sc->nufft) return scatter_nufft_intensities(sc->nufft, quaternions, count, intensities);
    scatter_direct_intensities(sc->direct, quaternions, count, intensities);
    return STATUS_OK;
}

int64_t scatter_n_pixels(const scatter *sc)
{
    return sc->n_pixels;
}

int64_t scatter_batch(const scatter *sc)
{
    return sc->nufft ? scatter_nufft_batch(sc->nufft) : SCATTER_DIRECT_BATCH;
}
