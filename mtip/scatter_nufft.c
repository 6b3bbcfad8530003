/* scatter_nufft.c: the sum over atoms through nonuniform FFTs.

   1. A type 1 transform for each element gives F(s) at the nodes of a Cartesian grid, exactly
      (atom_modes.h); form factors and B factors multiply there, where |s| is known.  Step 2 asks
      for form factors as smooth as those of real atoms (form_factor.h).
   2. F itself would need all of reciprocal space to be interpolated: cut at s_cut, its density
      would ring through the box.  W F, with a window W that falls to nothing at s_cut and whose own
      transform is nothing beyond a radius a, belongs to a density that a box of the particle's
      diameter + 2 a holds.  An FFT gives its n^3 samples, and their sum W F(s) at *any* |s| < s_cut:
      a type 2 transform at the turned pixels, the other half of a type 3 (Lee and Greengard, J.
      Comput. Phys. 206, 1, 2005).  Nothing is truncated but at the tolerance.
   3. W depends on |s| alone, which turning does not change: a pixel's intensity is divided by W^2.
      So are the smooth form factors, summed over all atoms, and the tables' put in their place:
      what is left of the difference is that between elements, 1e-6 of a protein's intensity (l2).

   Form factors could also multiply in the pixels, after a type 2 for each element: no smoothing,
   but as many times the cost of a pixel.

   With beta the window's bandwidth, R the particle's radius and u = s_max/s_cut the errors are
   about exp(-beta sqrt(1 - u^2)) where W is smallest, and a = beta / (2 pi s_cut).  The grid
   n = 2 s_cut 2 (R + a) is smallest where u = sin(t), tan(t)^3 = R s_max / (log(1/error) / 2 pi). */
#include "mtip/atom_modes.h"
#include "mtip/form_factor.h"
#include "mtip/points.h"
#include "mtip/scatter_parts.h"
#include "nufft/fft.h"
#include "nufft/nufft.h"

#include <math.h>
#include <stdlib.h>

/* Of each transform and of the window, in the l2 sense.  Small, because the far pixels, where W and
   F are a thousandth of what they are in the middle, should be right as well. */
static const double tolerance = 1e-9;

/* Points transformed together: their cost should hide that of the FFT, which each batch repeats. */
enum { MIN_POINTS = 1 << 20, MAX_POINTS = 1 << 22, POINTS_PER_CELL = 2 };

struct scatter_nufft {
    const device *dev;
    mode_grid grid;
    int64_t n_pixels, batch;
    nufft *plan;
    void *density; /* on the device: [n][n][n] complex, of W F */
    void *pixels;  /* [n_pixels][3], radians per voxel */
    void *weight;  /* [n_pixels] of |amplitude|^2 */
    points points;
    void *amplitudes;  /* [capacity][n_pixels] complex */
    void *intensities; /* [capacity][n_pixels] */
    int64_t capacity;  /* orientations */
};

/* A multiple of 4, for which a shift by n/2 is a change of sign in both spaces. */
static int64_t good_size(double least)
{
    int64_t n = fft_good_size((int64_t)ceil(least), true);
    while (n % 4)
        n = fft_good_size(n + 1, true);
    return n;
}

/* What an atom adds to the particle's radius: its electrons, and six standard deviations of B. */
static double atom_reach(const atom *atoms, int64_t n_atoms)
{
    double most = 0;
    for (int64_t j = 0; j < n_atoms; j++)
        most = fmax(most, atoms[j].b_factor);
    return 4 + 6 * sqrt(most / 8) / acos(-1);
}

static mode_grid choose_grid(const atom *atoms, int64_t n_atoms, double s_max)
{
    double turns = log(1 / tolerance) / (2 * acos(-1));
    double centre[3];
    scatter_find_centre(atoms, n_atoms, centre);
    double radius = scatter_radius(atoms, n_atoms, centre) + atom_reach(atoms, n_atoms);
    double angle = atan(cbrt(radius * s_max / turns));
    double s_cut = s_max / sin(angle), margin = turns / (s_cut * cos(angle));
    mode_grid grid = {.box = 2 * (radius + margin), .smooth = true};
    grid.n = good_size(2 * s_cut * grid.box);
    grid.s_cut = 0.5 * (double)grid.n / grid.box;
    grid.bandwidth = 2 * acos(-1) * margin * grid.s_cut;
    return grid;
}

/* The density of W F: modes on entry. */
static status transform_modes(scatter_nufft *sum)
{
    const int64_t n = sum->grid.n, size[3] = {n, n, n};
    const scatter_kernels *kernels = scatter_kernels_of(sum->dev);
    fft *plan;
    TRY(kernels->alternate(sum->dev, n, 1, sum->density));
    TRY(fft_create(sum->dev, PRECISION_DOUBLE, FFT_FORWARD, 3, size, 1, true, &plan));
    status result = fft_run(plan, sum->density, sum->density);
    if (result == STATUS_OK) result = device_synchronize(sum->dev);
    fft_destroy(plan);
    TRY(result);
    return kernels->alternate(sum->dev, n, 1 / (double)(n * n * n), sum->density);
}

static status upload(const device *dev, int64_t n, const double *values, void **memory)
{
    int64_t bytes = n * (int64_t)sizeof *values;
    TRY(device_alloc(dev, bytes, memory));
    return device_from_host(dev, *memory, values, bytes);
}

/* What the form factors of all atoms add up to at lengths [n] of s: those of the tables over the
   smooth ones. */
static status table_over_smooth(const atom *atoms, int64_t n_atoms,
                                const scatter_settings *settings, double s_cut, int64_t n,
                                const double *lengths, double *ratio)
{
    status result = STATUS_OK;
    double share[SCATTER_MAX_ELEMENT] = {0}, imaginary;
    double *table = malloc((size_t)n * sizeof *table), *smooth = calloc((size_t)n, sizeof *smooth);
    TRY_OR(done, table && smooth ? STATUS_OK : FAILED(STATUS_RESOURCE, "out of host memory"));
    for (int64_t j = 0; j < n_atoms; j++)
        share[atoms[j].element] += atoms[j].occupancy;
    for (int64_t i = 0; i < n; i++)
        ratio[i] = 0;
    for (int element = 1; element < SCATTER_MAX_ELEMENT; element++) {
        form_factor fitted;
        if (share[element] == 0) continue;
        TRY_OR(done, form_factor_table(element, settings, n, lengths, table, &imaginary));
        TRY_OR(done, form_factor_fit(element, settings, s_cut, &fitted));
        for (int64_t i = 0; i < n; i++) {
            ratio[i] += share[element] * table[i];
            smooth[i] += share[element] * form_factor_at(&fitted, lengths[i]);
        }
    }
    for (int64_t i = 0; i < n; i++)
        ratio[i] /= smooth[i];
done:
    free(table);
    free(smooth);
    return result;
}

/* pixels [n_pixels][3] and weight [n_pixels] as in scatter_nufft. */
static status fill_pixels(const scatter_nufft *sum, const atom *atoms, int64_t n_atoms,
                          const scatter_settings *settings, const double *s, double *pixels,
                          double *weight)
{
    const int64_t n = sum->n_pixels;
    double radians = 2 * acos(-1) * sum->grid.box / (double)sum->grid.n;
    double *lengths = pixels; /* until it is filled */
    for (int64_t p = 0; p < n; p++)
        lengths[p] = scatter_length(s + 3 * p);
    TRY(table_over_smooth(atoms, n_atoms, settings, sum->grid.s_cut, n, lengths, weight));
    for (int64_t p = 0; p < n; p++) {
        double factor = weight[p] / mode_window(&sum->grid, lengths[p]);
        weight[p] = factor * factor;
    }
    for (int64_t i = 0; i < 3 * n; i++)
        pixels[i] = radians * s[i];
    return STATUS_OK;
}

static status upload_pixels(scatter_nufft *sum, const atom *atoms, int64_t n_atoms,
                            const scatter_settings *settings, const double *s)
{
    const int64_t n = sum->n_pixels;
    double *pixels = malloc(4 * (size_t)n * sizeof *pixels), *weight = pixels + 3 * n;
    if (!pixels) FAIL(STATUS_RESOURCE, "no memory for %lld pixels", (long long)n);
    status result = fill_pixels(sum, atoms, n_atoms, settings, s, pixels, weight);
    if (result == STATUS_OK) result = upload(sum->dev, 3 * n, pixels, &sum->pixels);
    if (result == STATUS_OK) result = upload(sum->dev, n, weight, &sum->weight);
    free(pixels);
    return result;
}

static int64_t choose_batch(const nufft *plan, int64_t n_pixels)
{
    nufft_info info;
    nufft_get_info(plan, &info);
    int64_t n_points = POINTS_PER_CELL * info.fine[0] * info.fine[1] * info.fine[2];
    if (n_points < MIN_POINTS) n_points = MIN_POINTS;
    if (n_points > MAX_POINTS) n_points = MAX_POINTS;
    return n_points / n_pixels > 1 ? n_points / n_pixels : 1;
}

status scatter_nufft_create(const device *dev, const atom *atoms, int64_t n_atoms, const double *s,
                            int64_t n_pixels, const scatter_settings *settings,
                            scatter_nufft **created)
{
    status result = STATUS_OK;
    scatter_nufft *sum = calloc(1, sizeof *sum);
    if (!sum) FAIL(STATUS_RESOURCE, "no memory for the atoms");
    double s_max = 1e-3; /* of pixels in the beam alone */
    for (int64_t p = 0; p < n_pixels; p++)
        s_max = fmax(s_max, scatter_length(s + 3 * p));
    sum->dev = dev;
    sum->n_pixels = n_pixels;
    sum->points = (points){.dev = dev, .precision = PRECISION_DOUBLE};
    sum->grid = choose_grid(atoms, n_atoms, s_max);
    const int64_t n = sum->grid.n, size[3] = {n, n, n};
    const nufft_options options = {.precision = PRECISION_DOUBLE, .tolerance = tolerance};
    TRY_OR(failed, device_alloc(dev, 2 * n * n * n * (int64_t)sizeof(double), &sum->density));
    TRY_OR(failed, atom_modes(dev, atoms, n_atoms, settings, &sum->grid, tolerance, sum->density));
    TRY_OR(failed, transform_modes(sum));
    TRY_OR(failed, upload_pixels(sum, atoms, n_atoms, settings, s));
    TRY_OR(failed, nufft_create(dev, 3, size, &options, &sum->plan));
    sum->batch = choose_batch(sum->plan, n_pixels);
    *created = sum;
    return STATUS_OK;
failed:
    scatter_nufft_destroy(sum);
    return result;
}

void scatter_nufft_destroy(scatter_nufft *sum)
{
    if (!sum) return;
    nufft_destroy(sum->plan);
    points_free(&sum->points);
    void *on_device[] = {sum->density, sum->pixels, sum->weight, sum->amplitudes, sum->intensities};
    for (size_t i = 0; i < sizeof on_device / sizeof *on_device; i++)
        device_free(sum->dev, on_device[i]);
    free(sum);
}

int64_t scatter_nufft_batch(const scatter_nufft *sum)
{
    return sum->batch;
}

static status reserve(scatter_nufft *sum, int64_t count)
{
    if (count <= sum->capacity) return STATUS_OK;
    int64_t bytes = count * sum->n_pixels * (int64_t)sizeof(double);
    sum->capacity = 0;
    device_free(sum->dev, sum->amplitudes);
    device_free(sum->dev, sum->intensities);
    sum->amplitudes = sum->intensities = NULL;
    TRY(device_alloc(sum->dev, 2 * bytes, &sum->amplitudes));
    TRY(device_alloc(sum->dev, bytes, &sum->intensities));
    sum->capacity = count;
    return STATUS_OK;
}

static status run_batch(scatter_nufft *sum, const double *quaternions, int64_t count,
                        double *intensities)
{
    const int64_t n = count * sum->n_pixels;
    TRY(reserve(sum, count));
    TRY(points_rotate(&sum->points, count, quaternions, sum->n_pixels, sum->pixels));
    const void *const coordinates[3] = {sum->points.coordinates[0], sum->points.coordinates[1],
                                        sum->points.coordinates[2]};
    TRY(nufft_set_points(sum->plan, n, coordinates));
    TRY(nufft_forward(sum->plan, sum->density, sum->amplitudes));
    TRY(scatter_kernels_of(sum->dev)->intensities(sum->dev, count, sum->n_pixels, sum->weight,
                                                  sum->amplitudes, sum->intensities));
    return device_to_host(sum->dev, intensities, sum->intensities, n * (int64_t)sizeof(double));
}

status scatter_nufft_intensities(scatter_nufft *sum, const double *quaternions, int64_t count,
                                 double *intensities)
{
    for (int64_t first = 0, n; first < count; first += n) {
        n = count - first < sum->batch ? count - first : sum->batch;
        TRY(run_batch(sum, quaternions + 4 * first, n, intensities + first * sum->n_pixels));
    }
    return STATUS_OK;
}
