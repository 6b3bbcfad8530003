#include "mtip/detector.h"

#include <math.h>
#include <stdlib.h>

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

/* Middle stop pixels of a line of n. Where n and stop differ in parity, one more pixel is stopped so
   that the stop stays centred. */
static bool behind_stop(int i, int n, int stop)
{
    return stop > 0 && abs(2 * i - (n - 1)) <= stop;
}

static void fill_pixel(detector *det, int row, int col)
{
    const detector_settings *set = &det->settings;
    double x = (col - 0.5 * (set->n_cols - 1)) * set->pixel_size;
    double y = (row - 0.5 * (set->n_rows - 1)) * set->pixel_size;
    double rho2 = x * x + y * y, r = sqrt(rho2 + set->distance * set->distance);
    int64_t p = (int64_t)row * set->n_cols + col;
    det->s[3 * p] = x / r / set->wavelength;
    det->s[3 * p + 1] = y / r / set->wavelength;
    /* D/r - 1 without the cancellation at small angles */
    det->s[3 * p + 2] = -rho2 / (r * (r + set->distance)) / set->wavelength;
    det->polarization[p] = polarization_factor(set->polarized, x / r, y / r);
    det->solid_angle[p] = set->pixel_size * set->pixel_size * set->distance / (r * r * r);
    det->mask[p] = !(behind_stop(row, set->n_rows, set->stop_pixels) &&
                     behind_stop(col, set->n_cols, set->stop_pixels));
}

status detector_create(const detector_settings *settings, detector **created)
{
    *created = NULL;
    TRY(check_settings(settings));
    detector *det = calloc(1, sizeof *det);
    if (!det) FAIL(STATUS_RESOURCE, "no memory for a detector");
    det->settings = *settings;
    det->n_pixels = (int64_t)settings->n_rows * settings->n_cols;
    size_t n = (size_t)det->n_pixels;
    det->s = malloc(3 * n * sizeof *det->s);
    det->polarization = malloc(n * sizeof *det->polarization);
    det->solid_angle = malloc(n * sizeof *det->solid_angle);
    det->mask = malloc(n);
    if (!det->s || !det->polarization || !det->solid_angle || !det->mask) {
        detector_destroy(det);
        FAIL(STATUS_RESOURCE, "no memory for a detector of %d x %d pixels", settings->n_rows,
             settings->n_cols);
    }
    for (int row = 0; row < settings->n_rows; row++)
        for (int col = 0; col < settings->n_cols; col++)
            fill_pixel(det, row, col);
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
    free(det);
}

static double s_length(const detector *det, int row, int col)
{
    const double *s = det->s + 3 * ((int64_t)row * det->settings.n_cols + col);
    return sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
}

double detector_s_edge(const detector *det)
{
    const detector_settings *set = &det->settings;
    double of_row = s_length(det, set->n_rows / 2, 0), of_col = s_length(det, 0, set->n_cols / 2);
    return of_row > of_col ? of_row : of_col;
}

double detector_s_corner(const detector *det)
{
    return s_length(det, 0, 0);
}
