#include "report_pictures.h"

#include "mtip/ball.h"
#include "picture.h"

#include <math.h>
#include <stdlib.h>

static const char *const axes[3] = {"x", "y", "z"};

/* -- three pictures side by side -- */

/* Of maps [n][n][n]: the middle `shown` voxels along an edge are in the picture. */
typedef struct series {
    const char *title;
    int64_t n, shown;
    void (*look)(int64_t n, const double *volume, int axis, double *out);
    bool of_planes; /* or of projections */
    double low, high;
    const char *low_text, *high_text;
} series;

static double largest(int64_t n, const double *values)
{
    double most = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        if (values[i] > most) most = values[i];
    return most;
}

/* The middle of a picture [n][n], in place. */
static void crop(int64_t n, int64_t shown, double *picture)
{
    const int64_t first = n / 2 - shown / 2, top = n - 1 - n / 2 - (shown - 1 - shown / 2);
    for (int64_t y = 0; y < shown; y++)
        for (int64_t x = 0; x < shown; x++)
            picture[y * shown + x] = picture[(top + y) * n + first + x];
}

static status print_picture(const char *name, int64_t width, int64_t height, const double *values,
                            double low, double high, FILE *file)
{
    fprintf(file, "<div><img alt=\"%s\" src=\"", name);
    TRY(picture_print(width, height, values, low, high, file));
    fprintf(file, "\" /><span>%s</span></div>\n", name);
    return STATUS_OK;
}

static void print_scale(const char *low, const char *high, FILE *file)
{
    fprintf(file,
            "<p class=\"scale\"><span>%s</span><i style=\"background:linear-gradient(to "
            "right,%s)\"></i><span>%s</span></p>\n",
            low, picture_gradient, high);
}

/* NAN for the ends of the colours: from 0 to the largest value of the three pictures. */
static status print_series(const series *s, const double *volume, FILE *file)
{
    const int64_t size = s->n * s->n;
    double *pictures = malloc((size_t)(3 * size) * sizeof *pictures), high = s->high;
    char name[32];
    status result = STATUS_OK;
    if (!pictures) FAIL(STATUS_RESOURCE, "no memory for pictures of %lld", (long long)s->n);
    for (int axis = 0; axis < 3; axis++) {
        s->look(s->n, volume, axis, pictures + axis * size);
        crop(s->n, s->shown, pictures + axis * size);
        if (isnan(s->high))
            high = axis == 0 ? largest(s->shown * s->shown, pictures)
                             : fmax(high, largest(s->shown * s->shown, pictures + axis * size));
    }
    fprintf(file, "<figure>\n<h3>%s</h3>\n<div class=\"three\">\n", s->title);
    for (int axis = 0; axis < 3; axis++) {
        snprintf(name, sizeof name, s->of_planes ? "%s = 0" : "along %s", axes[axis]);
        TRY_OR(done,
               print_picture(name, s->shown, s->shown, pictures + axis * size, s->low, high, file));
    }
    fputs("</div>\n", file);
    print_scale(s->low_text, s->high_text, file);
done:
    free(pictures);
    return result;
}

/* -- density -- */

/* Where the middle of what is dense lies along an axis of a periodic map: phasing leaves it anywhere. */
static int64_t middle_of(const report_data *r, int axis)
{
    const int64_t n = r->size, step[3] = {1, n, n * n};
    const double least = largest(n * n * n, r->density) / 5;
    double re = 0, im = 0;
    for (int64_t i = 0; i < n * n * n; i++) {
        if (!(r->density[i] > least)) continue;
        const double turn = 2 * M_PI * (double)(i / step[axis] % n) / (double)n;
        re += r->density[i] * cos(turn);
        im += r->density[i] * sin(turn);
    }
    return (int64_t)lround(atan2(im, re) / (2 * M_PI) * (double)n + (double)n) % n;
}

/* The density moved by whole voxels so that its middle is at the centre; the caller frees it. NULL
   without memory. */
static double *centred(const report_data *r)
{
    const int64_t n = r->size;
    int64_t from[3];
    double *out = malloc((size_t)(n * n * n) * sizeof *out);
    for (int axis = 0; axis < 3; axis++)
        from[axis] = middle_of(r, axis) - n / 2 + n;
    for (int64_t z = 0; out && z < n; z++)
        for (int64_t y = 0; y < n; y++)
            for (int64_t x = 0; x < n; x++)
                out[(z * n + y) * n + x] =
                    r->density[((z + from[2]) % n * n + (y + from[1]) % n) * n + (x + from[0]) % n];
    return out;
}

static status print_density(const report_data *r, const double *density, FILE *file)
{
    const double voxels = fmax(8, 1.3 * r->settings.grid.diameter / r->voxel);
    const bool all = r->settings.grid.diameter <= 0 || voxels >= (double)r->size;
    const int64_t shown = all ? r->size : (int64_t)voxels;
    const double width = (double)shown * r->voxel;
    series s = {
        "Slices through the centre", r->size, shown, picture_plane, true, 0, NAN, "0", "largest"};
    TRY(print_series(&s, density, file));
    fprintf(
        file,
        "<figcaption>The density in three planes through its middle; a picture is %.0f \u00c5 wide, a voxel %.2f "
        "\u00c5. Good: one compact body with structure inside, and clean white around it. Speckle "
        "everywhere means that phasing or orientations failed.</figcaption>\n</figure>\n",
        width, r->voxel);
    s.title = "Projections";
    s.look = picture_projection;
    s.of_planes = false;
    TRY(print_series(&s, density, file));
    fprintf(
        file,
        "<figcaption>The density summed along x, y and z: the particle's shadow from three sides. "
        "The hand is not determined by diffraction: a mirror image fits as well.</figcaption>\n"
        "</figure>\n");
    return STATUS_OK;
}

status report_print_density(const report_data *r, FILE *file)
{
    double *density = centred(r);
    if (!density) FAIL(STATUS_RESOURCE, "no memory for a map of %lld", (long long)r->size);
    const status result = print_density(r, density, file);
    free(density);
    return result;
}

/* -- intensity -- */

/* log10 of the transform of the autocorrelation [n][n][n], NAN beyond the data; what is not positive is
   `least`.  *low and *high: of what is shown. */
static status intensity_of(const device *dev, const report_data *r, double *out, double *low,
                           double *high)
{
    const int64_t n = r->size, c = n / 2;
    status result = STATUS_OK;
    ball *b = NULL;
    double outer = 0, n_outer = 0, most = 0;
    TRY(ball_create(n, (double)n / 2, &b));
    double *values = malloc((size_t)(2 * b->n_points) * sizeof *values);
    if (!values)
        TRY_OR(done, FAILED(STATUS_RESOURCE, "no memory for an intensity of %lld", (long long)n));
    TRY_OR(done, ball_from_map(dev, b, r->autocorrelation, values));
    for (int64_t i = 0; i < b->n_points; i++) {
        most = fmax(most, values[2 * i]);
        if (b->shell[i] < 0.8 * b->radius) continue;
        outer += fabs(values[2 * i]);
        n_outer++;
    }
    *high = most > 0 ? log10(most) : 0;
    *low = fmin(outer > 0 ? log10(outer / n_outer) - 1 : *high - 6, *high - 1);
    for (int64_t i = 0; i < n * n * n; i++)
        out[i] = NAN;
    for (int64_t i = 0; i < b->n_points; i++) {
        const double value = values[2 * i] > 0 ? log10(values[2 * i]) : *low;
        const int *k = b->k[i];
        out[((k[2] + c) * n + k[1] + c) * n + k[0] + c] = value;
        out[((c - k[2]) * n + c - k[1]) * n + c - k[0]] = value;
    }
done:
    free(values);
    ball_destroy(b);
    return result;
}

status report_print_intensity(const device *dev, const report_data *r, FILE *file)
{
    const int64_t n = r->size;
    char low[40], high[40];
    status result = STATUS_OK;
    double *logs = malloc((size_t)(n * n * n) * sizeof *logs);
    if (!logs) FAIL(STATUS_RESOURCE, "no memory for an intensity of %lld", (long long)n);
    series s = {
        "Slices through the centre, logarithmic", n, n, picture_plane, true, 0, 0, low, high};
    TRY_OR(done, intensity_of(dev, r, logs, &s.low, &s.high));
    snprintf(low, sizeof low, "10<sup>%.1f</sup>", s.low);
    snprintf(high, sizeof high, "10<sup>%.1f</sup> photons", s.high);
    TRY_OR(done, print_series(&s, logs, file));
    fprintf(
        file,
        "<figcaption>The three-dimensional intensity merged from the images, out to the edge of the "
        "data at %.2f \u00c5 (the rim). Good: speckles of one size, symmetric about the centre, fading "
        "outwards; the innermost part, behind the beam stop, is not measured. Smooth rings mean "
        "that orientations are random.</figcaption>\n</figure>\n",
        1 / r->s_max);
    s.title = "Mean logarithm along an axis";
    s.look = picture_projection;
    s.of_planes = false;
    TRY_OR(done, print_series(&s, logs, file));
    fputs(
        "<figcaption>The same, averaged along x, y and z: shows directions in which the data are thin or "
        "noisy. Good: no streaks or wedges.</figcaption>\n</figure>\n",
        file);
done:
    free(logs);
    return result;
}

/* -- sample images -- */

static double mean_of(int64_t n, const double *values)
{
    double sum = 0, count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isnan(values[i])) continue;
        sum += values[i];
        count++;
    }
    return count > 0 ? sum / count : 0;
}

static status print_sample(const report_samples *samples, const report_sample *s, double *scratch,
                           FILE *file)
{
    const int64_t cells = samples->width * samples->height;
    const double *const both[2] = {s->counts, s->expected}, unit = mean_of(cells, s->expected);
    const double most = fmax(largest(cells, s->counts), largest(cells, s->expected));
    const double *q = s->quaternion;
    fprintf(file, "<figure>\n<h3>Image %lld</h3>\n<div class=\"two\">\n", (long long)s->image);
    for (int i = 0; i < 2; i++) {
        for (int64_t c = 0; c < cells; c++)
            scratch[c] = unit > 0 ? log1p(fmax(both[i][c], 0) / unit) + 0 * both[i][c] : both[i][c];
        TRY(print_picture(i == 0 ? "measured" : "best slice", samples->width, samples->height,
                          scratch, 0, unit > 0 ? log1p(most / unit) : most, file));
    }
    fprintf(
        file,
        "</div>\n<figcaption>orientation (w, x, y, z) = (%.3f, %.3f, %.3f, %.3f), fluence %.2f, "
        "correlation %.2f; darkest is %.3g photons a pixel</figcaption>\n</figure>\n",
        q[0], q[1], q[2], q[3], s->fluence, s->correlation, most);
    return STATUS_OK;
}

status report_print_samples(const report_samples *samples, FILE *file)
{
    status result = STATUS_OK;
    double *scratch = malloc((size_t)(samples->width * samples->height + 1) * sizeof *scratch);
    if (!scratch) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int i = 0; i < samples->n && result == STATUS_OK; i++)
        result = print_sample(samples, &samples->all[i], scratch, file);
    free(scratch);
    return result;
}
