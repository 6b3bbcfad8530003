#include "dataset.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dataset_format.h"

enum { PIECE_BYTES = 32 << 20, N_FORMATS = CONFIG_FORMAT_LIST + 1 };

/* By the constants of data.format; the order of the list is that in which contents are looked at. */
static const dataset_format *const formats[N_FORMATS] = {
    [CONFIG_FORMAT_SPINIFEL] = &dataset_spinifel,
    [CONFIG_FORMAT_CXI] = &dataset_cxi,
    [CONFIG_FORMAT_DRAGONFLY] = &dataset_dragonfly,
    [CONFIG_FORMAT_DENSE] = &dataset_dense,
    [CONFIG_FORMAT_EMC] = &dataset_emc,
    [CONFIG_FORMAT_LIST] = &dataset_list,
};

static double or_unknown(double value, double unit)
{
    return value > 0 ? value * unit : 0;
}

static polarization polarization_of(const config *c)
{
    switch (c->beam.polarization) {
    case CONFIG_POLARIZATION_HORIZONTAL:
        return POLARIZATION_HORIZONTAL;
    case CONFIG_POLARIZATION_VERTICAL:
        return POLARIZATION_VERTICAL;
    default:
        return POLARIZATION_NONE;
    }
}

dataset_settings dataset_settings_of(const config *c)
{
    const double energy = c->geometry.photon_energy;
    return (dataset_settings){
        .path = c->data.file,
        .format = (int)c->data.format,
        .images = c->data.dataset,
        .geometry = {.file = c->geometry.file,
                     .wavelength = energy > 0 ? PHYSICS_HC / energy : 0,
                     .distance = or_unknown(c->geometry.distance, 1e-3),
                     .pixel_size = or_unknown(c->geometry.pixel_size, 1e-3),
                     .has_centre = c->geometry.centre_column >= 0 || c->geometry.centre_row >= 0,
                     .centre = {c->geometry.centre_column, c->geometry.centre_row},
                     .polarized = polarization_of(c)},
        .corrected = c->data.corrected,
        .units_per_photon = c->data.units_per_photon,
        .clip = c->data.clip,
        .bin = c->data.bin,
    };
}

/* Images at other places could not be read: dataset_spinifel.c looks at the same. */
static status check_sphere(const geometry_settings *places, detector **det)
{
    if (detector_is_on_sphere(*det)) return STATUS_OK;
    const double curved = fabs(detector_curvature(*det));
    detector_destroy(*det);
    *det = NULL;
    FAIL(STATUS_INPUT,
         "%s: its pixels lie on an Ewald sphere of %g Angstrom; expected %g, that of "
         "beam.photon_energy: q and the ewald_rad of a detector of Dragonfly disagree",
         places->file, curved, places->wavelength);
}

status dataset_detector_to_simulate(const config *c, detector **det)
{
    if (*c->geometry.file) {
        geometry_settings places = dataset_settings_of(c).geometry;
        places.wavelength = PHYSICS_HC / c->beam.photon_energy;
        TRY(geometry_read_alone(&places, det));
        return check_sphere(&places, det);
    }
    const detector_settings settings = {
        .n_rows = (int)c->detector.pixels,
        .n_cols = (int)c->detector.pixels,
        .pixel_size = 1e-3 * c->detector.pixel_size,
        .distance = 1e-3 * c->detector.distance,
        .wavelength = PHYSICS_HC / c->beam.photon_energy,
        .polarized = polarization_of(c),
        .stop_pixels = (int)c->detector.beam_stop,
    };
    return detector_create(&settings, det);
}

/* ---- helpers of the formats ---- */

status dataset_locate(dataset *ds, const dataset_settings *set, const geometry_images *images)
{
    const geometry_settings *g = &set->geometry;
    const bool known = (g->file && *g->file) || (g->distance > 0 && g->pixel_size > 0);
    if (known || !set->anywhere) return geometry_read(g, images, &ds->det);
    TRY(detector_allocate(images->shape, &ds->det));
    free(ds->det->s);
    ds->det->s = NULL;
    return STATUS_OK;
}

status photon_lists_allocate(const char *path, int64_t count, int64_t n, photon_lists *p)
{
    *p = (photon_lists){.n_images = count};
    p->start = calloc((size_t)count + 1, sizeof *p->start);
    p->pixel = malloc(((size_t)n + 1) * sizeof *p->pixel);
    p->counts = malloc(((size_t)n + 1) * sizeof *p->counts);
    if (p->start && p->pixel && p->counts) return STATUS_OK;
    photon_lists_free(p);
    FAIL(STATUS_RESOURCE, "%s: no memory for %lld photons", path, (long long)n);
}

static status check_list(const char *path, int64_t image, int64_t n_pixels, const photon_lists *p,
                         int64_t i, uint8_t *seen)
{
    for (int64_t k = p->start[i]; k < p->start[i + 1]; k++) {
        const int32_t pixel = p->pixel[k];
        if (pixel < 0 || pixel >= n_pixels || seen[pixel] || p->counts[k] < 1)
            FAIL(
                STATUS_INPUT,
                "%s: image %lld has %d photons in pixel %d; expected 1 or more, and every pixel of "
                "0 to %lld once",
                path, (long long)image, p->counts[k], pixel, (long long)n_pixels - 1);
        seen[pixel] = 1;
    }
    for (int64_t k = p->start[i]; k < p->start[i + 1]; k++)
        seen[p->pixel[k]] = 0;
    return STATUS_OK;
}

status photon_lists_check(const char *path, int64_t first, int64_t n_pixels, const photon_lists *p)
{
    uint8_t *seen = calloc((size_t)n_pixels, 1);
    if (!seen) FAIL(STATUS_RESOURCE, "%s: no memory for %lld pixels", path, (long long)n_pixels);
    status result = STATUS_OK;
    for (int64_t i = 0; i < p->n_images && result == STATUS_OK; i++)
        result = check_list(path, first + i, n_pixels, p, i, seen);
    free(seen);
    return result;
}

/* ---- opening ---- */

bool dataset_recognize(const char *path)
{
    for (int i = CONFIG_FORMAT_AUTO + 1; i < N_FORMATS; i++)
        if (formats[i]->recognize(path)) return true;
    return false;
}

static status choose_format(dataset *ds, int wanted)
{
    struct stat info;
    if (stat(ds->path, &info) != 0)
        FAIL(STATUS_INPUT, "%s: cannot open: %s", ds->path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        FAIL(STATUS_INPUT, "%s: is a directory; expected a file of images", ds->path);
    if (info.st_size == 0) FAIL(STATUS_INPUT, "%s: is empty; expected a file of images", ds->path);
    for (int i = CONFIG_FORMAT_AUTO + 1; i < N_FORMATS && !ds->format; i++)
        if (wanted == i || (wanted == CONFIG_FORMAT_AUTO && formats[i]->recognize(ds->path)))
            ds->format = formats[i];
    if (ds->format) return STATUS_OK;
    FAIL(STATUS_INPUT,
         "%s: is not an HDF5 file, and neither a whole Dragonfly .emc file nor a list of files "
         "(data.format names a format)",
         ds->path);
}

/* The product of both factors with mean 1 over the pixels that are used. */
static status make_correction(dataset *ds, bool corrected)
{
    const detector *det = ds->det;
    ds->correction = malloc((size_t)det->n_pixels * sizeof *ds->correction);
    if (!ds->correction) FAIL(STATUS_RESOURCE, "%s: no memory for correction factors", ds->path);
    double sum = 0;
    int64_t n_used = 0;
    for (int64_t p = 0; p < det->n_pixels; p++) {
        ds->correction[p] = corrected ? 1 : det->polarization[p] * det->solid_angle[p];
        if (!det->mask[p]) continue;
        sum += ds->correction[p];
        n_used++;
    }
    if (n_used == 0)
        FAIL(STATUS_INPUT, "%s: the mask leaves none of the %lld pixels to use", ds->path,
             (long long)det->n_pixels);
    for (int64_t p = 0; p < det->n_pixels; p++)
        ds->correction[p] *= (double)n_used / sum;
    return STATUS_OK;
}

static status bin_detector(dataset *ds)
{
    detector *binned = NULL;
    if (ds->clip == 0 && ds->bin == 1) return STATUS_OK;
    if (!ds->det->s)
        FAIL(STATUS_INPUT, "%s: pixels that are nowhere known (geometry.file) cannot be binned",
             ds->path);
    TRY(status_prefix(detector_bin(ds->det, ds->clip, ds->bin, &binned), "%s", ds->path));
    detector_destroy(ds->det);
    ds->det = binned;
    return STATUS_OK;
}

static status open_all(dataset *ds, const dataset_settings *set)
{
    TRY(choose_format(ds, set->format));
    TRY(ds->format->open(ds, set));
    memcpy(ds->stored_shape, ds->det->shape, sizeof ds->stored_shape);
    ds->flags = ds->det->flags;
    ds->det->flags = NULL;
    ds->clip = set->clip;
    ds->bin = set->bin > 0 ? set->bin : 1;
    ds->units_per_photon = set->units_per_photon > 0 ? set->units_per_photon : 1;
    TRY(bin_detector(ds));
    ds->n_pixels = ds->det->n_pixels;
    return make_correction(ds, set->corrected);
}

status dataset_open(const dataset_settings *set, dataset **opened)
{
    *opened = NULL;
    dataset *ds = calloc(1, sizeof *ds);
    if (!ds) FAIL(STATUS_RESOURCE, "%s: no memory to read it", set->path);
    ds->path = strdup(set->path);
    status result = ds->path ? open_all(ds, set)
                             : FAILED(STATUS_RESOURCE, "%s: no memory to read it", set->path);
    if (result == STATUS_OK)
        *opened = ds;
    else
        dataset_close(ds);
    return result;
}

void dataset_close(dataset *ds)
{
    if (!ds) return;
    if (ds->format) ds->format->close(ds);
    detector_destroy(ds->det);
    free(ds->flags);
    free(ds->correction);
    free(ds->path);
    free(ds);
}

const char *dataset_format_name(const dataset *ds)
{
    return ds->format->name;
}

/* ---- images ---- */

static status check_range(const dataset *ds, int64_t first, int64_t count)
{
    if (first < 0 || count < 0 || first > ds->n_images - count)
        FAIL(STATUS_INPUT, "%s: images %lld to %lld of a file that holds %lld", ds->path,
             (long long)first, (long long)(first + count - 1), (long long)ds->n_images);
    return STATUS_OK;
}

/* Images as they are stored, bad pixels NAN. */
static status read_stored(const dataset *ds, int64_t first, int64_t count, float *images)
{
    const int64_t *shape = ds->stored_shape, n = shape[0] * shape[1] * shape[2];
    TRY(ds->format->read(ds, first, count, images));
    for (int64_t i = 0; ds->flags && i < count * n; i++) {
        const float *flags = ds->flags + 3 * (i % n);
        if (images[i] < flags[0] || images[i] > flags[1] || images[i] == flags[2]) images[i] = NAN;
    }
    return STATUS_OK;
}

/* One image as stored to one of bins. */
static void bin_image(const dataset *ds, const float *stored, float *image)
{
    const int64_t *from = ds->stored_shape, *to = ds->det->shape;
    memset(image, 0, (size_t)ds->n_pixels * sizeof *image);
    for (int64_t line = 0; line < to[0] * to[1] * ds->bin; line++) {
        int64_t slab = line / (to[1] * ds->bin), row = line % (to[1] * ds->bin);
        const float *x = stored + (slab * from[1] + ds->clip + row) * from[2] + ds->clip;
        float *y = image + (slab * to[1] + row / ds->bin) * to[2];
        for (int64_t col = 0; col < to[2] * ds->bin; col++)
            y[col / ds->bin] += x[col];
    }
}

static status read_binned(const dataset *ds, int64_t first, int64_t count, float *images)
{
    const int64_t *shape = ds->stored_shape, n = shape[0] * shape[1] * shape[2];
    int64_t most = PIECE_BYTES / (n * (int64_t)sizeof(float)) + 1;
    if (most > count) most = count;
    float *stored = malloc((size_t)(most * n) * sizeof *stored + 1);
    if (!stored) FAIL(STATUS_RESOURCE, "%s: no memory for an image", ds->path);
    status result = STATUS_OK;
    for (int64_t done = 0; done < count && result == STATUS_OK; done += most) {
        if (most > count - done) most = count - done;
        result = read_stored(ds, first + done, most, stored);
        for (int64_t i = 0; i < most && result == STATUS_OK; i++)
            bin_image(ds, stored + i * n, images + (done + i) * ds->n_pixels);
    }
    free(stored);
    return result;
}

status dataset_read(const dataset *ds, int64_t first, int64_t count, float *images)
{
    TRY(check_range(ds, first, count));
    if (count == 0) return STATUS_OK;
    const bool is_stored = ds->clip == 0 && ds->bin == 1;
    TRY(is_stored ? read_stored(ds, first, count, images) : read_binned(ds, first, count, images));
    if (ds->units_per_photon == 1) return STATUS_OK;
    for (int64_t i = 0; i < count * ds->n_pixels; i++)
        images[i] = (float)((double)images[i] / ds->units_per_photon);
    return STATUS_OK;
}

bool dataset_is_sparse(const dataset *ds)
{
    return ds->is_sparse && ds->clip == 0 && ds->bin == 1 && ds->units_per_photon == 1 &&
           !ds->flags;
}

status dataset_read_photons(const dataset *ds, int64_t first, int64_t count, photon_lists *read)
{
    *read = (photon_lists){0};
    TRY(check_range(ds, first, count));
    return ds->format->read_photons(ds, first, count, read);
}

/* ---- the truth ---- */

status dataset_read_truth(const dataset *ds, int64_t first, int64_t count, double *quaternions,
                          double *fluences)
{
    TRY(check_range(ds, first, count));
    if (!ds->has_truth) FAIL(STATUS_INPUT, "%s: holds no orientations of its images", ds->path);
    return ds->format->read_truth(ds, first, count, quaternions, fluences);
}

status dataset_read_atoms(const dataset *ds, dataset_atoms *truth)
{
    *truth = (dataset_atoms){0};
    if (!ds->has_atoms) FAIL(STATUS_INPUT, "%s: holds no atoms (/truth/atomic_numbers)", ds->path);
    return ds->format->read_atoms(ds, truth);
}

/* ---- faults ---- */

const dataset_faults dataset_no_faults = {.first_bad = -1, .first_dark = -1};

void dataset_check(const dataset *ds, const float *images, int64_t first, int64_t count,
                   dataset_faults *faults)
{
    for (int64_t i = 0; i < count; i++) {
        const float *image = images + i * ds->n_pixels;
        int64_t before = faults->n_nan + faults->n_infinite + faults->n_negative;
        double sum = 0;
        for (int64_t p = 0; p < ds->n_pixels; p++) {
            if (!ds->det->mask[p]) continue;
            bool is_nan = isnan(image[p]), is_infinite = isinf(image[p]),
                 is_negative = image[p] < 0;
            faults->n_nan += is_nan;
            faults->n_infinite += is_infinite;
            faults->n_negative += is_negative && !is_infinite;
            if (!is_nan && !is_infinite && !is_negative) sum += (double)image[p];
        }
        if (faults->n_nan + faults->n_infinite + faults->n_negative > before) {
            if (faults->n_bad_images++ == 0) faults->first_bad = first + i;
        }
        if (!(sum > 0)) {
            if (faults->n_dark_images++ == 0) faults->first_dark = first + i;
        }
    }
}
