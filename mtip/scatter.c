#include "mtip/scatter.h"

#include "mtip/phase_sum.h"
#include "mtip/rotation.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xraylib.h>

/* Orientations done together: the weights of a block of atoms serve all of them. */
enum { BATCH = 64, MAX_ELEMENT = 120 };

struct scatter {
    int64_t n_atoms, n_padded; /* padded to whole blocks with weightless atoms */
    double *x, *y, *z;         /* [n_padded] */
    float *occupancy, *b_factor;
    int *kind; /* [n_padded], row of the form factors */
    int n_kinds;
    double *real_factor; /* f0 + f' [n_kinds][n_pixels] */
    double *absorption;  /* f'' [n_kinds], NULL: left out */
    double *s;           /* [n_pixels][3] */
    int64_t n_pixels;
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

static double distance_squared(const double a[3], const double b[3])
{
    double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
}

/* The centre of electrons; returns their number. */
static double find_centre(const atom *atoms, int64_t n_atoms, double centre[3])
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

scatter_size scatter_measure(const atom *atoms, int64_t n_atoms)
{
    scatter_size size = {0};
    double square = 0;
    size.n_electrons = find_centre(atoms, n_atoms, size.centre);
    for (int64_t j = 0; j < n_atoms; j++) {
        double r2 = distance_squared(atoms[j].position, size.centre);
        square += atoms[j].occupancy * atoms[j].element * r2;
        size.radius = fmax(size.radius, sqrt(r2));
    }
    if (size.n_electrons > 0) size.gyration = sqrt(square / size.n_electrons);
    size.diameter = largest_width(atoms, n_atoms);
    return size;
}

static status allocate(scatter *sc, bool absorption)
{
    size_t n = (size_t)sc->n_padded, n_factors = (size_t)sc->n_kinds * (size_t)sc->n_pixels;
    sc->x = calloc(n, sizeof *sc->x);
    sc->y = calloc(n, sizeof *sc->y);
    sc->z = calloc(n, sizeof *sc->z);
    sc->occupancy = calloc(n, sizeof *sc->occupancy);
    sc->b_factor = calloc(n, sizeof *sc->b_factor);
    sc->kind = calloc(n, sizeof *sc->kind);
    sc->real_factor = calloc(n_factors, sizeof *sc->real_factor);
    sc->absorption = absorption ? calloc((size_t)sc->n_kinds, sizeof *sc->absorption) : NULL;
    sc->s = malloc(3 * (size_t)sc->n_pixels * sizeof *sc->s);
    if (!sc->x || !sc->y || !sc->z || !sc->occupancy || !sc->b_factor || !sc->kind ||
        !sc->real_factor || (absorption && !sc->absorption) || !sc->s)
        FAIL(STATUS_RESOURCE, "no memory for the form factors of %lld atoms and %lld pixels",
             (long long)sc->n_atoms, (long long)sc->n_pixels);
    return STATUS_OK;
}

/* Numbers the elements that occur; kind_of[element] is -1 for the others. */
static status number_elements(const atom *atoms, int64_t n_atoms, int kind_of[MAX_ELEMENT],
                              int *n_kinds)
{
    for (int element = 0; element < MAX_ELEMENT; element++)
        kind_of[element] = -1;
    *n_kinds = 0;
    for (int64_t j = 0; j < n_atoms; j++) {
        int element = atoms[j].element;
        if (element < 1 || element >= MAX_ELEMENT)
            FAIL(STATUS_INPUT, "atom %lld has atomic number %d", (long long)j, element);
        if (kind_of[element] < 0) kind_of[element] = (*n_kinds)++;
    }
    return STATUS_OK;
}

static double s_length(const double s[3])
{
    return sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
}

static status xraylib_failure(int element, xrl_error *error)
{
    status code = status_fail(STATUS_INPUT, __FILE__, __LINE__,
                              "no form factor for atomic number %d: %s", element, error->message);
    xrl_error_free(error);
    return code;
}

/* xraylib's tables do not reach down to the direct beam, and f0 is the number of electrons there. */
static const double least_q = 1e-6;

/* xraylib: f' in electrons, f'' with the opposite sign, energies in keV. */
static status fill_factors(scatter *sc, int element, int kind, const scatter_settings *settings)
{
    xrl_error *error = NULL;
    double kilo_volts = settings->photon_energy / 1000;
    double dispersion = settings->dispersion ? Fi(element, kilo_volts, &error) : 0;
    if (error) return xraylib_failure(element, error);
    if (sc->absorption) sc->absorption[kind] = -Fii(element, kilo_volts, &error);
    if (error) return xraylib_failure(element, error);
    double *row = sc->real_factor + (int64_t)kind * sc->n_pixels;
    for (int64_t p = 0; p < sc->n_pixels; p++) {
        row[p] =
            FF_Rayl(element, fmax(0.5 * s_length(sc->s + 3 * p), least_q), &error) + dispersion;
        if (error) return xraylib_failure(element, error);
    }
    return STATUS_OK;
}

static void fill_atoms(scatter *sc, const atom *atoms, const int kind_of[MAX_ELEMENT])
{
    double centre[3];
    find_centre(atoms, sc->n_atoms, centre);
    for (int64_t j = 0; j < sc->n_atoms; j++) {
        sc->x[j] = atoms[j].position[0] - centre[0];
        sc->y[j] = atoms[j].position[1] - centre[1];
        sc->z[j] = atoms[j].position[2] - centre[2];
        sc->occupancy[j] = (float)atoms[j].occupancy;
        sc->b_factor[j] = (float)atoms[j].b_factor;
        sc->kind[j] = kind_of[atoms[j].element];
    }
}

status scatter_create(const atom *atoms, int64_t n_atoms, const double *s, int64_t n_pixels,
                      const scatter_settings *settings, scatter **created)
{
    *created = NULL;
    if (n_atoms < 1 || n_pixels < 1)
        FAIL(STATUS_INVALID, "%lld atoms and %lld pixels", (long long)n_atoms, (long long)n_pixels);
    int kind_of[MAX_ELEMENT], n_kinds;
    TRY(number_elements(atoms, n_atoms, kind_of, &n_kinds));
    scatter *sc = calloc(1, sizeof *sc);
    if (!sc) FAIL(STATUS_RESOURCE, "no memory for the atoms");
    status result = STATUS_OK;
    sc->n_atoms = n_atoms;
    sc->n_padded = (n_atoms + PHASE_SUM_BLOCK - 1) / PHASE_SUM_BLOCK * PHASE_SUM_BLOCK;
    sc->n_kinds = n_kinds;
    sc->n_pixels = n_pixels;
    TRY_OR(failed, allocate(sc, settings->absorption));
    memcpy(sc->s, s, 3 * (size_t)n_pixels * sizeof *s);
    fill_atoms(sc, atoms, kind_of);
    for (int element = 1; element < MAX_ELEMENT; element++)
        if (kind_of[element] >= 0)
            TRY_OR(failed, fill_factors(sc, element, kind_of[element], settings));
    *created = sc;
    return STATUS_OK;
failed:
    scatter_destroy(sc);
    return result;
}

void scatter_destroy(scatter *sc)
{
    if (!sc) return;
    free(sc->x);
    free(sc->y);
    free(sc->z);
    free(sc->occupancy);
    free(sc->b_factor);
    free(sc->kind);
    free(sc->real_factor);
    free(sc->absorption);
    free(sc->s);
    free(sc);
}

int64_t scatter_n_pixels(const scatter *sc)
{
    return sc->n_pixels;
}

/* What the atoms of the block from `first` weigh in pixel p: real part, and imaginary where f'' is
   kept. */
static void weigh_block(const scatter *sc, int64_t p, int64_t first, float *real_part,
                        float *imaginary_part)
{
    double length = s_length(sc->s + 3 * p), damping = -0.25 * length * length;
    for (int j = 0; j < PHASE_SUM_BLOCK; j++) {
        int64_t a = first + j;
        double weight = (double)sc->occupancy[a] * exp(damping * (double)sc->b_factor[a]);
        real_part[j] = (float)(weight * sc->real_factor[sc->kind[a] * sc->n_pixels + p]);
        if (sc->absorption) imaginary_part[j] = (float)(weight * sc->absorption[sc->kind[a]]);
    }
}

/* F of one pixel in a batch of orientations: matrices [count][9]. */
static void sum_pixel(const scatter *sc, int64_t p, const double *matrices, int count,
                      double amplitudes[][2])
{
    double u[BATCH][3], of_real[BATCH][2] = {{0}}, of_imaginary[BATCH][2] = {{0}};
    const double *s = sc->s + 3 * p;
    for (int i = 0; i < count; i++) /* u = R^T s */
        for (int d = 0; d < 3; d++)
            u[i][d] = matrices[9 * i + d] * s[0] + matrices[9 * i + 3 + d] * s[1] +
                      matrices[9 * i + 6 + d] * s[2];
    for (int64_t a = 0; a < sc->n_padded; a += PHASE_SUM_BLOCK) {
        float w[PHASE_SUM_BLOCK], w_imaginary[PHASE_SUM_BLOCK];
        weigh_block(sc, p, a, w, w_imaginary);
        for (int i = 0; i < count; i++)
            phase_sum_block(sc->x + a, sc->y + a, sc->z + a, w, u[i], of_real[i]);
        for (int i = 0; i < count && sc->absorption; i++)
            phase_sum_block(sc->x + a, sc->y + a, sc->z + a, w_imaginary, u[i], of_imaginary[i]);
    }
    for (int i = 0; i < count; i++) { /* F = S(f0 + f') + i S(f'') */
        amplitudes[i][0] = of_real[i][0] - of_imaginary[i][1];
        amplitudes[i][1] = of_real[i][1] + of_imaginary[i][0];
    }
}

void scatter_intensities(const scatter *sc, const double *quaternions, int64_t count,
                         double *intensities)
{
    for (int64_t first = 0; first < count; first += BATCH) {
        double matrices[9 * BATCH];
        int n = count - first < BATCH ? (int)(count - first) : BATCH;
        for (int i = 0; i < n; i++)
            rotation_matrix(quaternions + 4 * (first + i), matrices + 9 * i);
#pragma omp parallel for schedule(dynamic)
        for (int64_t p = 0; p < sc->n_pixels; p++) {
            double f[BATCH][2], *to = intensities + first * sc->n_pixels + p;
            sum_pixel(sc, p, matrices, n, f);
            for (int i = 0; i < n; i++)
                to[i * sc->n_pixels] = f[i][0] * f[i][0] + f[i][1] * f[i][1];
        }
    }
}

void scatter_amplitudes(const scatter *sc, const double quaternion[4], double *amplitudes)
{
    double matrix[9];
    rotation_matrix(quaternion, matrix);
#pragma omp parallel for schedule(dynamic, 64)
    for (int64_t p = 0; p < sc->n_pixels; p++) {
        double f[1][2];
        sum_pixel(sc, p, matrix, 1, f);
        amplitudes[2 * p] = f[0][0];
        amplitudes[2 * p + 1] = f[0][1];
    }
}
