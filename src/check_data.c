#include "check_data.h"

#include <math.h>
#include <stdlib.h>

#include "core/log.h"
#include "dataset.h"
#include "text.h"

enum { BLOCK_BYTES = 64 << 20 };

/* What a look at all images gives. */
typedef struct totals {
    dataset_faults faults;
    double photons, least, most; /* in used, finite pixels: of all images, of one */
    int64_t n_broken;            /* pixels that are no whole numbers */
} totals;

static void look_at(const dataset *ds, const float *image, totals *t)
{
    double sum = 0;
    for (int64_t p = 0; p < ds->n_pixels; p++) {
        if (!ds->det->mask[p] || !isfinite(image[p])) continue;
        sum += (double)image[p];
        t->n_broken += image[p] != rintf(image[p]);
    }
    t->photons += sum;
    t->least = fmin(t->least, sum);
    t->most = fmax(t->most, sum);
}

static status read_images(const dataset *ds, totals *t)
{
    int64_t most = BLOCK_BYTES / (ds->n_pixels * (int64_t)sizeof(float));
    if (most < 1) most = 1;
    if (most > ds->n_images) most = ds->n_images;
    float *block = malloc((size_t)(most * ds->n_pixels) * sizeof *block + 1);
    if (!block) FAIL(STATUS_RESOURCE, "no memory for %lld images", (long long)most);
    status result = STATUS_OK;
    *t = (totals){.faults = dataset_no_faults, .least = INFINITY, .most = -INFINITY};
    for (int64_t first = 0; first < ds->n_images; first += most) {
        int64_t count = ds->n_images - first < most ? ds->n_images - first : most;
        TRY_OR(done, dataset_read(ds, first, count, block));
        dataset_check(ds, block, first, count, &t->faults);
        for (int64_t i = 0; i < count; i++)
            look_at(ds, block + i * ds->n_pixels, t);
    }
done:
    free(block);
    return result;
}

/* ---- the detector ---- */

static double length_of(const double *s)
{
    return sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
}

static double largest_used(const detector *det)
{
    double largest = 0;
    for (int64_t p = 0; p < det->n_pixels; p++)
        if (det->mask[p]) largest = fmax(largest, length_of(det->s + 3 * p));
    return largest;
}

/* Distance in s of neighbours along rows near the beam: the smallest one but 0. */
static double pixel_width(const detector *det)
{
    double least = INFINITY;
    for (int64_t p = 1; p < det->n_pixels; p++) {
        const double *s = det->s + 3 * p;
        const double step[3] = {s[0] - s[-3], s[1] - s[-2], s[2] - s[-1]};
        const double width = length_of(step);
        if (p % det->shape[2] != 0 && det->mask[p] && det->mask[p - 1] && width > 0)
            least = fmin(least, width);
    }
    return least;
}

void check_print_detector(const detector *det)
{
    int64_t n_used = 0;
    for (int64_t p = 0; p < det->n_pixels; p++)
        n_used += det->mask[p];
    printf("pixels          %lld x %lld x %lld (panels, rows, columns), %.2f %% of them masked\n",
           (long long)det->shape[0], (long long)det->shape[1], (long long)det->shape[2],
           100 - 100 * (double)n_used / (double)det->n_pixels);
    if (!det->s) {
        printf("places          nowhere known; geometry.file says where the pixels are\n");
        return;
    }
    if (det->wavelength > 0)
        printf("wavelength      %.4f A, %.1f eV\n", det->wavelength, PHYSICS_HC / det->wavelength);
    if (det->distance > 0 && det->pixel_size > 0)
        printf("detector        pixels of %.4g mm, %.4g mm from the particle\n",
               1e3 * det->pixel_size, 1e3 * det->distance);
    const double s_max = largest_used(det);
    printf("largest |s|     %.5f 1/A, full period %.2f A, voxel %.3f A\n", s_max, 1 / s_max,
           1 / (2 * s_max));
    if (det->shape[0] == 1 && det->shape[1] > 1)
        printf("edge            full period %.2f A\n", 1 / detector_s_edge(det));
    printf("sampling        2 pixels or more for each speckle of particles up to %.0f A\n",
           1 / (2 * pixel_width(det)));
}

/* ---- the data set ---- */

static void print_dataset(const dataset *ds, const totals *t)
{
    const dataset_faults *f = &t->faults;
    printf("images          %lld of %lld x %lld x %lld pixels (panels, rows, columns)\n",
           (long long)ds->n_images, (long long)ds->det->shape[0], (long long)ds->det->shape[1],
           (long long)ds->det->shape[2]);
    printf("format          %s%s\n", dataset_format_name(ds),
           dataset_is_sparse(ds) ? ", lists of photons" : "");
    check_print_detector(ds->det);
    printf("photons         %.4g in an image on average, %.4g to %.4g\n",
           t->photons / (double)ds->n_images, t->least, t->most);
    printf("truth           %s\n", ds->has_truth ? "orientations of every image" : "none");
    printf("faults          %lld image%s with bad pixels (%lld NaN, %lld infinite, %lld negative), "
           "%lld image%s without a photon\n",
           (long long)f->n_bad_images, text_plural(f->n_bad_images), (long long)f->n_nan,
           (long long)f->n_infinite, (long long)f->n_negative, (long long)f->n_dark_images,
           text_plural(f->n_dark_images));
}

static void warn(const config *c, const dataset *ds, const totals *t)
{
    const double mean = t->photons / (double)ds->n_images;
    const double total = (double)(ds->n_images * ds->n_pixels);
    if (mean < 1)
        log_warning("%s: %.3g photons in an image on average; orientations need more", ds->path,
                    mean);
    if ((double)t->n_broken > 0.01 * total)
        log_warning("%s: %.0f %% of the pixels hold no whole number; if these are no expected "
                    "photons but detector units, set data.units_per_photon",
                    ds->path, 100 * (double)t->n_broken / total);
    if (!ds->det->s || !(c->grid.diameter > 0)) return;
    const double pixels = 1 / (pixel_width(ds->det) * c->grid.diameter);
    if (pixels < 2)
        log_warning("%s: %.2f pixels for each speckle of a particle of grid.diameter %g A; below 2 "
                    "the images do not hold all of it",
                    ds->path, pixels, c->grid.diameter);
}

status check_data(const config *c)
{
    dataset *ds = NULL;
    totals t;
    dataset_settings settings = dataset_settings_of(c);
    settings.anywhere = true;
    TRY(dataset_open(&settings, &ds));
    status result = read_images(ds, &t);
    if (result == STATUS_OK) {
        print_dataset(ds, &t);
        warn(c, ds, &t);
    }
    dataset_close(ds);
    return result;
}
