/* scatter_direct.c: the sum over atoms for every pixel of every image, exact to single precision. */
#include "mtip/form_factor.h"
#include "mtip/phase_sum.h"
#include "mtip/rotation.h"
#include "mtip/scatter_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Orientations done together: the weights of a block of atoms serve all of them. */
enum { BATCH = SCATTER_DIRECT_BATCH };

struct scatter_direct {
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

static status allocate(scatter_direct *sc, bool absorption)
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

/* kind_of[element] is the row of its form factors. */
static void fill_atoms(scatter_direct *sc, const atom *atoms,
                       const int kind_of[SCATTER_MAX_ELEMENT])
{
    double centre[3];
    scatter_find_centre(atoms, sc->n_atoms, centre);
    for (int64_t j = 0; j < sc->n_atoms; j++) {
        sc->x[j] = atoms[j].position[0] - centre[0];
        sc->y[j] = atoms[j].position[1] - centre[1];
        sc->z[j] = atoms[j].position[2] - centre[2];
        sc->occupancy[j] = (float)atoms[j].occupancy;
        sc->b_factor[j] = (float)atoms[j].b_factor;
        sc->kind[j] = kind_of[atoms[j].element];
    }
}

static status fill_factors(scatter_direct *sc, const scatter_settings *settings,
                           const int kind_of[SCATTER_MAX_ELEMENT])
{
    status result = STATUS_OK;
    double *lengths = malloc((size_t)sc->n_pixels * sizeof *lengths), imaginary;
    if (!lengths) FAIL(STATUS_RESOURCE, "no memory for %lld pixels", (long long)sc->n_pixels);
    for (int64_t p = 0; p < sc->n_pixels; p++)
        lengths[p] = scatter_length(sc->s + 3 * p);
    for (int element = 1; element < SCATTER_MAX_ELEMENT; element++) {
        int kind = kind_of[element];
        if (kind < 0) continue;
        TRY_OR(done, form_factor_table(element, settings, sc->n_pixels, lengths,
                                       sc->real_factor + kind * sc->n_pixels, &imaginary));
        if (sc->absorption) sc->absorption[kind] = imaginary;
    }
done:
    free(lengths);
    return result;
}

status scatter_direct_create(const atom *atoms, int64_t n_atoms, const double *s, int64_t n_pixels,
                             const scatter_settings *settings, scatter_direct **created)
{
    int64_t counts[SCATTER_MAX_ELEMENT];
    int kind_of[SCATTER_MAX_ELEMENT];
    status result = STATUS_OK;
    TRY(scatter_count_elements(atoms, n_atoms, counts));
    scatter_direct *sc = calloc(1, sizeof *sc);
    if (!sc) FAIL(STATUS_RESOURCE, "no memory for the atoms");
    for (int element = 0; element < SCATTER_MAX_ELEMENT; element++)
        kind_of[element] = counts[element] > 0 ? sc->n_kinds++ : -1;
    sc->n_atoms = n_atoms;
    sc->n_padded = (n_atoms + PHASE_SUM_BLOCK - 1) / PHASE_SUM_BLOCK * PHASE_SUM_BLOCK;
    sc->n_pixels = n_pixels;
    TRY_OR(failed, allocate(sc, settings->absorption));
    memcpy(sc->s, s, 3 * (size_t)n_pixels * sizeof *s);
    fill_atoms(sc, atoms, kind_of);
    TRY_OR(failed, fill_factors(sc, settings, kind_of));
    *created = sc;
    return STATUS_OK;
failed:
    scatter_direct_destroy(sc);
    return result;
}

void scatter_direct_destroy(scatter_direct *sc)
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

/* What the atoms of the block from `first` weigh in pixel p: real part, and imaginary where f'' is
   kept. */
static void weigh_block(const scatter_direct *sc, int64_t p, int64_t first, float *real_part,
                        float *imaginary_part)
{
    double length = scatter_length(sc->s + 3 * p), damping = -0.25 * length * length;
    for (int j = 0; j < PHASE_SUM_BLOCK; j++) {
        int64_t a = first + j;
        double weight = (double)sc->occupancy[a] * exp(damping * (double)sc->b_factor[a]);
        real_part[j] = (float)(weight * sc->real_factor[sc->kind[a] * sc->n_pixels + p]);
        if (sc->absorption) imaginary_part[j] = (float)(weight * sc->absorption[sc->kind[a]]);
    }
}

/* F of one pixel in a batch of orientations: matrices [count][9]. */
static void sum_pixel(const scatter_direct *sc, int64_t p, const double *matrices, int count,
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

void scatter_direct_intensities(const scatter_direct *sc, const double *quaternions, int64_t count,
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
