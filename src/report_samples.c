#include "report_samples.h"

#include "image_pixels.h"
#include "mtip/slice.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Cells along an edge of a picture, at most, and of one whose pixels are put where they are. */
enum { LARGEST = 192, SPREAD = 128 };

typedef struct work {
    const device *dev;
    report_data *report;
    report_samples *samples;
    dataset *file;
    catalogue pixels; /* its pixels only */
    int64_t *cell;    /* [n_pixels] of the picture */
    double *weight;   /* [cells] pixels in it */
    slicer *slicer;
    void *model, *places, *slice; /* device: [n]^3, [n_pixels][3], [n_pixels] */
    float *image;                 /* [pixels of the file] */
    double *expected;             /* [n_pixels] */
} work;

static void work_free(work *w)
{
    slicer_destroy(w->slicer);
    device_free(w->dev, w->model);
    device_free(w->dev, w->places);
    device_free(w->dev, w->slice);
    void *arrays[] = {w->cell,     w->weight,       w->image,         w->expected,
                      w->pixels.s, w->pixels.pixel, w->pixels.radius, w->pixels.correction};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    dataset_close(w->file);
}

/* -- places in the picture -- */

static void place_flat(work *w)
{
    const int64_t *shape = w->file->det->shape;
    const int64_t edge = shape[1] > shape[2] ? shape[1] : shape[2];
    const int64_t k = (edge + LARGEST - 1) / LARGEST;
    w->samples->height = (shape[1] + k - 1) / k;
    w->samples->width = (shape[2] + k - 1) / k;
    for (int64_t i = 0; i < w->pixels.n_pixels; i++) {
        const int64_t p = w->pixels.pixel[i];
        w->cell[i] = p / shape[2] / k * w->samples->width + p % shape[2] / k;
    }
}

static void place_spread(work *w)
{
    const double s_max = w->pixels.radius[w->pixels.n_pixels - 1];
    const int64_t wanted = (int64_t)sqrt((double)w->pixels.n_pixels / 2);
    const int64_t edge = wanted < 16 ? 16 : wanted > SPREAD ? SPREAD : wanted;
    w->samples->width = w->samples->height = edge;
    for (int64_t i = 0; i < w->pixels.n_pixels; i++) {
        int64_t at[2];
        for (int d = 0; d < 2; d++) {
            const double part = (w->pixels.s[3 * i + d] / s_max + 1) / 2;
            at[d] = (int64_t)fmin(fmax(part * (double)edge, 0), (double)(edge - 1));
        }
        w->cell[i] = (edge - 1 - at[1]) * edge + at[0];
    }
}

static status place(work *w)
{
    const size_t n = (size_t)w->pixels.n_pixels;
    w->cell = calloc(n, sizeof *w->cell);
    if (!w->cell) FAIL(STATUS_RESOURCE, "out of host memory");
    if (w->file->det->shape[0] == 1)
        place_flat(w);
    else
        place_spread(w);
    const size_t cells = (size_t)(w->samples->width * w->samples->height);
    w->weight = calloc(cells, sizeof *w->weight);
    if (!w->weight) FAIL(STATUS_RESOURCE, "out of host memory");
    for (size_t i = 0; i < n; i++)
        w->weight[w->cell[i]]++;
    return STATUS_OK;
}

/* -- slices -- */

static status upload(const device *dev, int64_t n, const double *from, void **to)
{
    TRY(device_alloc(dev, n * (int64_t)sizeof *from, to));
    return device_from_host(dev, *to, from, n * (int64_t)sizeof *from);
}

static status prepare(work *w)
{
    const report_data *r = w->report;
    const int64_t n = w->pixels.n_pixels;
    const slice_options options = {PRECISION_DOUBLE, r->size, 1e-4, 0};
    w->image = malloc((size_t)w->file->n_pixels * sizeof *w->image);
    w->expected = malloc((size_t)n * sizeof *w->expected);
    if (!w->image || !w->expected) FAIL(STATUS_RESOURCE, "out of host memory");
    TRY(place(w));
    for (int64_t i = 0; i < 3 * n; i++)
        w->pixels.s[i] *= 2 * M_PI * r->voxel; /* 1/A to radians per voxel */
    TRY(slicer_create(w->dev, &options, &w->slicer));
    TRY(upload(w->dev, r->size * r->size * r->size, r->autocorrelation, &w->model));
    TRY(upload(w->dev, 3 * n, w->pixels.s, &w->places));
    TRY(device_alloc(w->dev, n * (int64_t)sizeof(double), &w->slice));
    return slicer_set_model(w->slicer, w->model);
}

static status slice_at(work *w, const double quaternion[4], double fluence)
{
    const int64_t n = w->pixels.n_pixels;
    TRY(slicer_run(w->slicer, 1, quaternion, n, w->places, w->slice));
    TRY(device_to_host(w->dev, w->expected, w->slice, n * (int64_t)sizeof *w->expected));
    for (int64_t i = 0; i < n; i++)
        w->expected[i] *= fluence * w->pixels.correction[i];
    return STATUS_OK;
}

static double correlation_of(const work *w)
{
    const int64_t n = w->pixels.n_pixels;
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (int64_t i = 0; i < n; i++) {
        const double a = (double)w->image[w->pixels.pixel[i]], b = w->expected[i];
        x += a / (double)n;
        y += b / (double)n;
        xx += a * a / (double)n;
        yy += b * b / (double)n;
        xy += a * b / (double)n;
    }
    return (xy - x * y) / sqrt(fmax((xx - x * x) * (yy - y * y), 1e-300));
}

static status make_sample(work *w, int64_t number)
{
    const report_data *r = w->report;
    const size_t cells = (size_t)(w->samples->width * w->samples->height);
    report_sample *s = &w->samples->all[w->samples->n++];
    *s = (report_sample){.image = r->image[number], .fluence = r->fluences[number]};
    memcpy(s->quaternion, r->orientations + 4 * number, sizeof s->quaternion);
    s->counts = malloc(cells * sizeof *s->counts);
    s->expected = malloc(cells * sizeof *s->expected);
    if (!s->counts || !s->expected) FAIL(STATUS_RESOURCE, "out of host memory");
    TRY(dataset_read(w->file, s->image, 1, w->image));
    TRY(slice_at(w, s->quaternion, s->fluence));
    s->correlation = correlation_of(w);
    for (size_t c = 0; c < cells; c++)
        s->counts[c] = s->expected[c] = w->weight[c] > 0 ? 0 : NAN;
    for (int64_t i = 0; i < w->pixels.n_pixels; i++) {
        const int64_t c = w->cell[i];
        s->counts[c] += (double)w->image[w->pixels.pixel[i]] / w->weight[c];
        s->expected[c] += w->expected[i] / w->weight[c];
    }
    return STATUS_OK;
}

/* -- all -- */

static status open_file(work *w)
{
    report_data *r = w->report;
    const dataset_settings settings = dataset_settings_of(&r->settings);
    TRY(dataset_open(&settings, &w->file));
    TRY(image_pixels_mask(&r->settings, w->file));
    TRY(image_pixels_choose(w->file->det, w->file->correction, &w->pixels));
    const double s_max = w->pixels.radius[w->pixels.n_pixels - 1];
    if (fabs(s_max / r->s_max - 1) > 1e-6)
        FAIL(STATUS_INPUT, "%s: its pixels reach %.6g 1/A, but the run's %.6g: it has changed",
             r->settings.data.file, s_max, r->s_max);
    for (int64_t i = 0; i < r->n_images; i++)
        if (r->image[i] < 0 || r->image[i] >= w->file->n_images)
            FAIL(STATUS_INPUT, "%s: has %lld images, but the run has used number %lld",
                 r->settings.data.file, (long long)w->file->n_images, (long long)r->image[i]);
    return STATUS_OK;
}

static status make_all(work *w)
{
    const int64_t n = w->report->n_images, wanted = n < REPORT_SAMPLES ? n : REPORT_SAMPLES;
    TRY(prepare(w));
    for (int64_t i = 0; i < wanted; i++)
        TRY(make_sample(w, (2 * i + 1) * n / (2 * wanted)));
    return STATUS_OK;
}

status report_samples_read(const device *dev, report_data *r, report_samples *samples)
{
    const char *path = r->settings.data.file;
    *samples = (report_samples){.n = 0};
    if (r->n_images == 0 || !r->autocorrelation || !r->image || !*path) return STATUS_OK;
    if (access(path, R_OK) != 0) {
        report_note(r,
                    "The data set %s cannot be read (%s), and so there are no sample images; paths "
                    "start where the run was started.",
                    path, strerror(errno));
        return STATUS_OK;
    }
    work w = {.dev = dev, .report = r, .samples = samples};
    status result = open_file(&w);
    if (result == STATUS_INPUT || result == STATUS_CONFIG) {
        report_note(r, "There are no sample images: %s.", status_message());
        result = STATUS_OK;
    } else if (result == STATUS_OK) {
        result = make_all(&w);
    }
    work_free(&w);
    return result;
}

void report_samples_free(report_samples *samples)
{
    for (int i = 0; i < samples->n; i++) {
        free(samples->all[i].counts);
        free(samples->all[i].expected);
    }
}
