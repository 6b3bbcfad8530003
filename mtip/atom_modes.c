#include "mtip/atom_modes.h"

#include "mtip/form_factor.h"
#include "mtip/kernels.h"
#include "mtip/scatter_parts.h"
#include "nufft/nufft.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_NODES = 64 };

/* exp(-B t) = sum_k L_k(B) exp(-node_k t) for 0 <= t <= t_max and B from middle - half to
   middle + half, with the Lagrange polynomials of the Chebyshev nodes. */
typedef struct damping {
    int n;
    double middle, half, node[MAX_NODES];
} damping;

typedef struct job {
    const device *dev;
    const scatter_settings *settings;
    const mode_grid *grid;
    double tolerance;
    double centre[3];
    damping damping;
    nufft *plan;
    void *part, *total;                  /* on the device, [n][n][n] complex */
    void *on_coordinates[3], *on_values; /* on the device, [capacity] */
    double *coordinates[3], *values;     /* of the element at hand, [capacity] */
    const atom **atoms;                  /* the same */
    int64_t capacity;
    int64_t n_radial; /* |k|^2 below it have |k|/box < s_cut */
    double *radius;   /* [n_radial] s = |k|/box */
    double *factor;   /* [n_radial] f0 + f' of the element */
    double *radial;   /* [n_radial] complex: what its coefficients are multiplied with */
} job;

double mode_window(const mode_grid *grid, double s)
{
    double u = s / grid->s_cut;
    return exp(grid->bandwidth * (sqrt(fmax(1 - u * u, 0)) - 1));
}

/* The error of n nodes is at most 2 (a/2)^n / n! with a = half t_max. */
static status choose_nodes(job *j, const atom *atoms, int64_t n_atoms)
{
    double low = INFINITY, high = -INFINITY, pi = acos(-1);
    for (int64_t i = 0; i < n_atoms; i++) {
        low = fmin(low, atoms[i].b_factor);
        high = fmax(high, atoms[i].b_factor);
    }
    damping *d = &j->damping;
    *d = (damping){.middle = 0.5 * (low + high), .half = 0.5 * (high - low)};
    double a = d->half * 0.25 * j->grid->s_cut * j->grid->s_cut, error = 2;
    while (error > j->tolerance && d->n < MAX_NODES)
        error *= 0.5 * a / ++d->n;
    if (!(error <= j->tolerance))
        FAIL(STATUS_INPUT,
             "B factors from %g to %g A^2 differ too much for the NUFFT at %.2f A; set "
             "molecule.b_factor or simulate.method: direct",
             low, high, 1 / j->grid->s_cut);
    for (int k = 0; k < d->n; k++)
        d->node[k] = d->middle + d->half * cos(pi * (k + 0.5) / d->n);
    return STATUS_OK;
}

static double lagrange(const damping *d, int k, double b)
{
    double product = 1;
    for (int m = 0; m < d->n; m++)
        if (m != k) product *= (b - d->node[m]) / (d->node[k] - d->node[m]);
    return product;
}

static status allocate_host(job *j)
{
    const size_t n = (size_t)j->capacity, n_radial = (size_t)j->n_radial;
    for (int d = 0; d < 3; d++)
        j->coordinates[d] = malloc(n * sizeof(double));
    j->values = malloc(n * sizeof(double));
    j->atoms = malloc(n * sizeof(atom *));
    j->radius = malloc(n_radial * sizeof(double));
    j->factor = malloc(n_radial * sizeof(double));
    j->radial = malloc(2 * n_radial * sizeof(double));
    if (!j->coordinates[0] || !j->coordinates[1] || !j->coordinates[2] || !j->values || !j->atoms ||
        !j->radius || !j->factor || !j->radial)
        FAIL(STATUS_RESOURCE, "no memory for %lld atoms", (long long)j->capacity);
    return STATUS_OK;
}

static status allocate(job *j)
{
    const int64_t n = j->grid->n, size[3] = {n, n, n};
    const int64_t bytes = j->capacity * (int64_t)sizeof(double);
    const nufft_options options = {
        .precision = PRECISION_DOUBLE, .tolerance = j->tolerance, .sign = -1, .real = true};
    double end = j->grid->s_cut * j->grid->box;
    j->n_radial = (int64_t)ceil(end * end);
    TRY(allocate_host(j));
    for (int64_t i = 0; i < j->n_radial; i++)
        j->radius[i] = sqrt((double)i) / j->grid->box;
    TRY(nufft_create(j->dev, 3, size, &options, &j->plan));
    TRY(device_alloc(j->dev, 2 * n * n * n * (int64_t)sizeof(double), &j->part));
    for (int d = 0; d < 3; d++)
        TRY(device_alloc(j->dev, bytes, &j->on_coordinates[d]));
    return device_alloc(j->dev, bytes, &j->on_values);
}

static void release(job *j)
{
    nufft_destroy(j->plan);
    device_free(j->dev, j->part);
    device_free(j->dev, j->on_values);
    for (int d = 0; d < 3; d++) {
        device_free(j->dev, j->on_coordinates[d]);
        free(j->coordinates[d]);
    }
    free(j->values);
    free(j->atoms);
    free(j->radius);
    free(j->factor);
    free(j->radial);
}

/* The atoms of an element become the points. */
static status set_points(job *j, const atom *atoms, int64_t n_atoms, int element)
{
    int64_t n = 0;
    double unit = 2 * acos(-1) / j->grid->box;
    for (int64_t i = 0; i < n_atoms; i++) {
        if (atoms[i].element != element) continue;
        for (int d = 0; d < 3; d++)
            j->coordinates[d][n] = unit * (atoms[i].position[d] - j->centre[d]);
        j->atoms[n++] = &atoms[i];
    }
    const int64_t bytes = n * (int64_t)sizeof(double);
    for (int d = 0; d < 3; d++)
        TRY(device_from_host(j->dev, j->on_coordinates[d], j->coordinates[d], bytes));
    const void *const points[3] = {j->on_coordinates[0], j->on_coordinates[1],
                                   j->on_coordinates[2]};
    return nufft_set_points(j->plan, n, points);
}

/* total += W f exp(-node_k s^2/4) times the transform of the atoms' share in node k. */
static status add_node(job *j, int64_t n, double imaginary, int k)
{
    for (int64_t i = 0; i < n; i++)
        j->values[i] = j->atoms[i]->occupancy * lagrange(&j->damping, k, j->atoms[i]->b_factor);
    for (int64_t i = 0; i < j->n_radial; i++) {
        double s = j->radius[i];
        double weight = mode_window(j->grid, s) * exp(-0.25 * j->damping.node[k] * s * s);
        j->radial[2 * i] = weight * j->factor[i];
        j->radial[2 * i + 1] = weight * imaginary;
    }
    TRY(device_from_host(j->dev, j->on_values, j->values, n * (int64_t)sizeof(double)));
    TRY(nufft_adjoint(j->plan, j->on_values, j->part));
    return scatter_kernels_of(j->dev)->add_radial(j->dev, j->grid->n, j->n_radial, j->radial,
                                                  j->part, j->total);
}

static status fill_factor(job *j, int element, double *imaginary)
{
    form_factor smooth;
    if (!j->grid->smooth)
        return form_factor_table(element, j->settings, j->n_radial, j->radius, j->factor,
                                 imaginary);
    TRY(form_factor_fit(element, j->settings, j->grid->s_cut, &smooth));
    for (int64_t i = 0; i < j->n_radial; i++)
        j->factor[i] = form_factor_at(&smooth, j->radius[i]);
    *imaginary = smooth.imaginary;
    return STATUS_OK;
}

static status add_element(job *j, const atom *atoms, int64_t n_atoms, int element, int64_t count)
{
    double imaginary;
    TRY(fill_factor(j, element, &imaginary));
    TRY(set_points(j, atoms, n_atoms, element));
    for (int k = 0; k < j->damping.n; k++)
        TRY(add_node(j, count, imaginary, k));
    return STATUS_OK;
}

status atom_modes(const device *dev, const atom *atoms, int64_t n_atoms,
                  const scatter_settings *settings, const mode_grid *grid, double tolerance,
                  void *modes)
{
    int64_t counts[SCATTER_MAX_ELEMENT], n = grid->n;
    status result = STATUS_OK;
    TRY(scatter_count_elements(atoms, n_atoms, counts));
    job j = {
        .dev = dev, .settings = settings, .grid = grid, .tolerance = tolerance, .total = modes};
    for (int element = 1; element < SCATTER_MAX_ELEMENT; element++)
        if (counts[element] > j.capacity) j.capacity = counts[element];
    scatter_find_centre(atoms, n_atoms, j.centre);
    TRY_OR(done, choose_nodes(&j, atoms, n_atoms));
    TRY_OR(done, allocate(&j));
    TRY_OR(done, device_zero(dev, modes, 2 * n * n * n * (int64_t)sizeof(double)));
    for (int element = 1; element < SCATTER_MAX_ELEMENT; element++)
        if (counts[element] > 0)
            TRY_OR(done, add_element(&j, atoms, n_atoms, element, counts[element]));
    result = device_synchronize(dev);
done:
    release(&j);
    return result;
}
