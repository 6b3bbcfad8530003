#include "mtip/detector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

status detector_allocate(const int64_t shape[3], detector **created)
{
    *created = NULL;
    int64_t n_pixels = 1;
    for (int d = 0; d < 3; d++) {
        if (shape[d] < 1 || shape[d] > DETECTOR_MAX_PIXELS / n_pixels)
            FAIL(STATUS_INPUT, "a detector of %lld x %lld x %lld pixels; expected 1 to %d in all",
                 (long long)shape[0], (long long)shape[1], (long long)shape[2],
                 DETECTOR_MAX_PIXELS);
        n_pixels *= shape[d];
    }
    detector *det = calloc(1, sizeof *det);
    if (!det) FAIL(STATUS_RESOURCE, "no memory for a detector");
    memcpy(det->shape, shape, sizeof det->shape);
    det->n_pixels = n_pixels;
    size_t n = (size_t)n_pixels;
    det->s = calloc(3 * n, sizeof *det->s);
    det->polarization = malloc(n * sizeof *det->polarization);
    det->solid_angle = malloc(n * sizeof *det->solid_angle);
    det->mask = malloc(n);
    if (!det->s || !det->polarization || !det->solid_angle || !det->mask) {
        detector_destroy(det);
        FAIL(STATUS_RESOURCE, "no memory for a detector of %lld pixels", (long long)n_pixels);
    }
    memset(det->mask, 1, n);
    for (int64_t p = 0; p < n_pixels; p++)
        det->polarization[p] = det->solid_angle[p] = 1;
    *created = det;
    return STATUS_OK;
}

void detector_destroy(detector *det)
{
    if (!det) return;
    free(det->s);
    free(det->polarization);
    free(det->solid_angle);
    free(det->mask);
    free(det->flags);
    free(det);
}

static double polarization_factor(polarization polarized, double x, double y)
{
    switch (polarized) {
    case POLARIZATION_HORIZONTAL:
        return 1 - x * x;
    case POLARIZATION_VERTICAL:
        return 1 - y * y;
    default:
        return 1 - 0.5 * (x * x + y * y);
    }
}

/* Pixel p of det, from its centre and its area's normal, as long as the area is large. */
static void fill_pixel(detector *det, int64_t p, const double at[3], const double area[3],
                       polarization polarized)
{
    double rho2 = at[0] * at[0] + at[1] * at[1], r = sqrt(rho2 + at[2] * at[2]);
    det->s[3 * p] = at[0] / r / det->wavelength;
    det->s[3 * p + 1] = at[1] / r / det->wavelength;
    /* z/r - 1 without the cancellation at small angles */
    double along = at[2] > 0 ? -rho2 / (r * (r + at[2])) : at[2] / r - 1;
    det->s[3 * p + 2] = along / det->wavelength;
    det->polarization[p] = polarization_factor(polarized, at[0] / r, at[1] / r);
    double facing = area[2] * at[2] + area[0] * at[0] + area[1] * at[1];
    det->solid_angle[p] = fabs(facing) / (r * r * r);
}

/* ---- flat ---- */

static status check_settings(const detector_settings *set)
{
    if (set->n_rows < 1 || set->n_cols < 1 || (int64_t)set->n_rows * set->n_cols > INT32_MAX)
        FAIL(STATUS_INVALID, "a detector of %d x %d pixels", set->n_rows, set->n_cols);
    if (!(set->pixel_size > 0) || !(set->distance > 0) || !(set->wavelength > 0))
        FAIL(STATUS_INVALID,
             "a detector needs positive numbers: pixel size %g m, distance %g m, wavelength %g A",
             set->pixel_size, set->distance, set->wavelength);
    if (set->stop_pixels < 0) FAIL(STATUS_INVALID, "a beam stop of %d pixels", set->stop_pixels);
    return STATUS_OK;
}

/* Middle stop pixels of a line of n. Where n and stop differ in parity, one more pixel is stopped so
   that the stop stays centred. */
static bool behind_stop(int i, int n, int stop)
{
    return stop > 0 && abs(2 * i - (n - 1)) <= stop;
}

status detector_create(const detector_settings *set, detector **created)
{
    *created = NULL;
    TRY(check_settings(set));
    detector *det = NULL;
    TRY(detector_allocate((const int64_t[]){1, set->n_rows, set->n_cols}, &det));
    det->wavelength = set->wavelength;
    det->distance = set->distance;
    det->pixel_size = set->pixel_size;
    const double area[3] = {0, 0, set->pixel_size * set->pixel_size};
    for (int row = 0; row < set->n_rows; row++)
        for (int col = 0; col < set->n_cols; col++) {
            const double at[3] = {(col - 0.5 * (set->n_cols - 1)) * set->pixel_size,
                                  (row - 0.5 * (set->n_rows - 1)) * set->pixel_size, set->distance};
            int64_t p = (int64_t)row * set->n_cols + col;
            fill_pixel(det, p, at, area, set->polarized);
            det->mask[p] = !(behind_stop(row, set->n_rows, set->stop_pixels) &&
                             behind_stop(col, set->n_cols, set->stop_pixels));
        }
    *created = det;
    return STATUS_OK;
}

/* ---- panels ---- */

static void cross(const double a[3], const double b[3], double product[3])
{
    for (int d = 0; d < 3; d++)
        product[d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
}

static double length(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/* Every number is small enough for the sums below, and the panel lies within the image. */
static status check_panel(const panel *p, int64_t number, int64_t n_pixels, const double area[3])
{
    bool counts = p->n_fs > 0 && p->n_ss > 0 && p->n_fs <= n_pixels && p->n_ss <= n_pixels &&
                  p->stride_fs > 0 && p->stride_ss > 0 && p->stride_fs <= n_pixels &&
                  p->stride_ss <= n_pixels && p->at >= 0;
    int64_t last = counts ? p->at + (p->n_fs - 1) * p->stride_fs + (p->n_ss - 1) * p->stride_ss : 0;
    if (!counts || last >= n_pixels)
        FAIL(STATUS_INPUT,
             "panel %lld of %lld x %lld pixels (slow x fast) reaches out of an image of %lld",
             (long long)number, (long long)p->n_ss, (long long)p->n_fs, (long long)n_pixels);
    if (!(length(area) > 0) || !isfinite(length(area) + length(p->first)) ||
        !(length(p->first) > 0))
        FAIL(STATUS_INPUT,
             "panel %lld has steps (%g, %g, %g) and (%g, %g, %g) m from (%g, %g, %g): no plane of "
             "pixels",
             (long long)number, p->fs[0], p->fs[1], p->fs[2], p->ss[0], p->ss[1], p->ss[2],
             p->first[0], p->first[1], p->first[2]);
    return STATUS_OK;
}

static status fill_panel(detector *det, const panel *p, int64_t number, polarization polarized)
{
    double area[3];
    cross(p->fs, p->ss, area);
    TRY(check_panel(p, number, det->n_pixels, area));
    for (int64_t i = 0; i < p->n_ss; i++)
        for (int64_t j = 0; j < p->n_fs; j++) {
            double at[3];
            for (int d = 0; d < 3; d++)
                at[d] = p->first[d] + (double)i * p->ss[d] + (double)j * p->fs[d];
            int64_t k = p->at + i * p->stride_ss + j * p->stride_fs;
            if (det->mask[k])
                FAIL(STATUS_INPUT, "panel %lld has pixel %lld of the image, which another has too",
                     (long long)number, (long long)k);
            fill_pixel(det, k, at, area, polarized);
            det->mask[k] = 1;
        }
    return STATUS_OK;
}

status detector_from_panels(const panel *panels, int64_t n_panels, const int64_t shape[3],
                            double wavelength, polarization polarized, detector **created)
{
    *created = NULL;
    if (n_panels < 1 || !(wavelength > 0))
        FAIL(STATUS_INVALID, "%lld panels at a wavelength of %g A", (long long)n_panels,
             wavelength);
    detector *det = NULL;
    status result = STATUS_OK;
    TRY_OR(done, detector_allocate(shape, &det));
    memset(det->mask, 0, (size_t)det->n_pixels);
    memset(det->solid_angle, 0, (size_t)det->n_pixels * sizeof *det->solid_angle);
    det->wavelength = wavelength;
    det->distance = panels[0].first[2];
    det->pixel_size = length(panels[0].fs);
    for (int64_t k = 0; k < n_panels; k++)
        TRY_OR(done, fill_panel(det, &panels[k], k, polarized));
    *created = det;
    det = NULL;
done:
    detector_destroy(det);
    return result;
}

/* ---- bins ---- */

/* A bin's centre is the mean of its pixels, its factors such that their product is the mean photons
   times the number of pixels. */
static void fill_bin(const detector *det, const int64_t first[3], int64_t bin, detector *to,
                     int64_t p)
{
    double s[3] = {0}, solid_angle = 0, both = 0;
    to->mask[p] = 1;
    for (int64_t i = 0; i < bin * bin; i++) {
        int64_t row = first[1] + i / bin, col = first[2] + i % bin;
        int64_t k = (first[0] * det->shape[1] + row) * det->shape[2] + col;
        for (int d = 0; d < 3; d++)
            s[d] += det->s[3 * k + d] / (double)(bin * bin);
        solid_angle += det->solid_angle[k];
        both += det->solid_angle[k] * det->polarization[k];
        to->mask[p] = to->mask[p] && det->mask[k];
    }
    if (det->wavelength > 0 && bin > 1) {
        const double out[3] = {s[0], s[1], s[2] + 1 / det->wavelength};
        const double scale = 1 / (length(out) * det->wavelength);
        for (int d = 0; d < 3; d++)
            s[d] = out[d] * scale - (d == 2) / det->wavelength;
    }
    memcpy(to->s + 3 * p, s, sizeof s);
    to->solid_angle[p] = solid_angle;
    to->polarization[p] = solid_angle > 0 ? both / solid_angle : 1;
}

status detector_bin(const detector *det, int64_t clip, int64_t bin, detector **binned)
{
    *binned = NULL;
    detector *to = NULL;
    int64_t shape[3] = {det->shape[0], 0, 0};
    for (int d = 1; d < 3; d++) {
        shape[d] = clip < det->shape[d] / 2 + 1 ? (det->shape[d] - 2 * clip) / bin : 0;
        if (shape[d] < 1)
            FAIL(STATUS_INPUT,
                 "%lld x %lld pixels (rows, columns), %lld off every edge, give no bin of %lld",
                 (long long)det->shape[1], (long long)det->shape[2], (long long)clip,
                 (long long)bin);
    }
    TRY(detector_allocate(shape, &to));
    to->wavelength = det->wavelength;
    to->distance = det->distance;
    to->pixel_size = det->pixel_size * (double)bin;
    for (int64_t p = 0; p < to->n_pixels; p++) {
        int64_t col = p % shape[2], row = p / shape[2] % shape[1];
        const int64_t first[3] = {p / shape[2] / shape[1], clip + row * bin, clip + col * bin};
        fill_bin(det, first, bin, to, p);
    }
    *binned = to;
    return STATUS_OK;
}

double detector_s_edge(const detector *det)
{
    const int64_t n_rows = det->shape[1], n_cols = det->shape[2];
    double of_row = length(det->s + 3 * (n_rows / 2 * n_cols));
    double of_col = length(det->s + 3 * (n_cols / 2));
    return of_row > of_col ? of_row : of_col;
}

double detector_s_corner(const detector *det)
{
    double largest = 0;
    for (int64_t p = 0; p < det->n_pixels; p++)
        largest = fmax(largest, length(det->s + 3 * p));
    return largest;
}

double detector_curvature(const detector *det)
{
    double along = 0, square = 0;
    for (int64_t p = 0; p < det->n_pixels; p++) {
        const double *s = det->s + 3 * p;
        along += s[2];
        square += s[0] * s[0] + s[1] * s[1] + s[2] * s[2];
    }
    return -2 * along / square;
}

bool detector_is_on_sphere(const detector *det)
{
    return fabs(det->wavelength - fabs(detector_curvature(det))) <= 0.01 * det->wavelength;
}
