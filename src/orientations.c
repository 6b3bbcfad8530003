#include "orientations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io_atomic.h"
#include "io_hdf5.h"
#include "mtip/rotation.h"
#include "text_file.h"

/* ---- reading ---- */

static status allocate(const char *path, int64_t n, orientations *list)
{
    const size_t count = (size_t)n + 1;
    list->image = malloc(count * sizeof *list->image);
    list->quaternions = malloc(4 * count * sizeof *list->quaternions);
    list->score = calloc(count, sizeof *list->score);
    list->fluence = malloc(count * sizeof *list->fluence);
    if (!list->image || !list->quaternions || !list->score || !list->fluence)
        FAIL(STATUS_RESOURCE, "%s: no memory for %lld orientations", path, (long long)n);
    for (int64_t i = 0; i < n; i++) {
        list->image[i] = i;
        list->fluence[i] = 1;
    }
    return STATUS_OK;
}

void orientations_free(orientations *list)
{
    free(list->image);
    free(list->quaternions);
    free(list->score);
    free(list->fluence);
    *list = (orientations){0};
}

/* Makes them unit quaternions. */
static status normalize(const char *path, orientations *list)
{
    for (int64_t i = 0; i < list->n; i++) {
        double *q = list->quaternions + 4 * i;
        double norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        if (!(fabs(norm - 1) < 1e-3))
            FAIL(STATUS_INPUT, "%s: quaternion %lld has length %g; expected 1", path, (long long)i,
                 norm);
        for (int d = 0; d < 4; d++)
            q[d] /= norm;
    }
    return STATUS_OK;
}

static status read_numbers(const h5_reader *r, orientations *list)
{
    h5_shape shape;
    TRY(h5_get_shape(r, "/orientations", &shape));
    const int last = shape.rank - 1;
    if (shape.rank < 2 || shape.rank > 3 || shape.dims[last] != 4 ||
        (shape.rank == 3 && shape.dims[1] != 1) || shape.dims[0] < 1 || shape.dims[0] > INT32_MAX)
        FAIL(STATUS_INPUT, "%s: dataset '/orientations' is not (N, 4)", h5_path(r));
    const int64_t n = shape.dims[0];
    TRY(allocate(h5_path(r), n, list));
    list->n = n;
    TRY(h5_read(r, "/orientations", H5_DOUBLE, shape.rank, shape.dims, list->quaternions));
    if (h5_has(r, "/image")) TRY(h5_read(r, "/image", H5_INT64, 1, &n, list->image));
    if (h5_has(r, "/scores")) TRY(h5_read(r, "/scores", H5_DOUBLE, 1, &n, list->score));
    if (!h5_has(r, "/fluences")) return STATUS_OK;
    TRY(h5_get_shape(r, "/fluences", &shape));
    if (shape.rank != 1 || shape.dims[0] != n)
        return STATUS_OK; /* empty, when there is no jitter */
    return h5_read(r, "/fluences", H5_DOUBLE, 1, &n, list->fluence);
}

static status read_hdf5(const char *path, orientations *list)
{
    h5_reader *r = NULL;
    TRY(h5_open(path, &r));
    status result = read_numbers(r, list);
    h5_close(r);
    return result;
}

/* A line of ours, or of Dragonfly's list. */
static bool take_line(const double numbers[7], int n, bool is_dragonfly, orientations *list)
{
    const int64_t i = list->n;
    double *q = list->quaternions + 4 * i;
    if (is_dragonfly) {
        if (n != 4 && n != 5) return false;
        rotation_inverse(numbers, q);
    } else {
        if (n < 5 || n > 7 || numbers[0] < 0 || numbers[0] != floor(numbers[0]) ||
            numbers[0] > 9e15)
            return false;
        list->image[i] = (int64_t)numbers[0];
        memcpy(q, numbers + 1, 4 * sizeof *q);
        if (n > 5) list->score[i] = numbers[5];
        if (n > 6) list->fluence[i] = numbers[6];
    }
    list->n++;
    return true;
}

static status parse(const char *path, char *text, orientations *list)
{
    int64_t n_lines = 1, expected = -1;
    for (const char *p = text; *p; p++)
        n_lines += *p == '\n';
    TRY(allocate(path, n_lines, list));
    text_lines lines = {0};
    lines.at = text;
    for (const char *line; (line = text_next_line(&lines, "#"));) {
        double numbers[7];
        if (!*line) continue;
        const int n = text_numbers(line, 7, numbers);
        if (n == 1 && list->n == 0 && expected < 0 && numbers[0] >= 1 && numbers[0] < 1e15)
            expected = (int64_t)numbers[0];
        else if (!take_line(numbers, n, expected >= 0, list))
            FAIL(STATUS_INPUT, "%s:%lld: expected %s", path, (long long)lines.number,
                 expected >= 0 ? "w x y z weight" : "image w x y z score fluence");
    }
    if (list->n == 0 || (expected >= 0 && list->n != expected))
        FAIL(STATUS_INPUT, "%s: %lld orientations; expected %lld", path, (long long)list->n,
             (long long)(expected >= 0 ? expected : 1));
    return STATUS_OK;
}

static status read_text(const char *path, orientations *list)
{
    char *text = NULL;
    size_t size;
    TRY(text_load(path, &text, &size));
    status result = parse(path, text, list);
    free(text);
    return result;
}

status orientations_read(const char *path, orientations *list)
{
    *list = (orientations){0};
    status result = h5_recognize(path) ? read_hdf5(path, list) : read_text(path, list);
    if (result == STATUS_OK) result = normalize(path, list);
    if (result != STATUS_OK) orientations_free(list);
    return result;
}

/* ---- writing ---- */

void orientations_euler(const double q[4], double angles[3])
{
    const double degrees = 180 / acos(-1);
    double r[9];
    rotation_matrix(q, r);
    const double sine = hypot(r[6], r[7]);
    if (sine > 1e-9) {
        angles[0] = atan2(r[7], r[6]) * degrees;
        angles[2] = atan2(r[5], -r[2]) * degrees;
    } else { /* only the sum, or the difference, of the two is determined */
        angles[0] = 0;
        angles[2] = (r[8] > 0 ? atan2(-r[3], r[0]) : atan2(r[3], -r[0])) * degrees;
    }
    angles[1] = atan2(sine, r[8]) * degrees;
}

static void print_text(FILE *out, const orientations *list)
{
    fprintf(out,
            "# rotation of the particle (unit quaternion w, x, y, z), score, fluence (mean 1)\n"
            "# image w x y z score fluence\n");
    for (int64_t i = 0; i < list->n; i++) {
        const double *q = list->quaternions + 4 * i;
        fprintf(out, "%lld %.17g %.17g %.17g %.17g %.17g %.17g\n", (long long)list->image[i], q[0],
                q[1], q[2], q[3], list->score[i], list->fluence[i]);
    }
}

static void print_quaternions(FILE *out, const orientations *list)
{
    fprintf(out, "%lld\n", (long long)list->n);
    for (int64_t i = 0; i < list->n; i++) {
        double q[4];
        rotation_inverse(list->quaternions + 4 * i, q);
        fprintf(out, "%.17g %.17g %.17g %.17g %.17g\n", q[0], q[1], q[2], q[3],
                1 / (double)list->n);
    }
}

static void print_star(FILE *out, const orientations *list)
{
    static const char *const columns[] = {"rlnImageName",
                                          "rlnAngleRot",
                                          "rlnAngleTilt",
                                          "rlnAnglePsi",
                                          "rlnLogLikeliContribution",
                                          "rlnScaleCorrection"};
    fprintf(out, "\ndata_particles\n\nloop_\n");
    for (int c = 0; c < 6; c++)
        fprintf(out, "_%s #%d\n", columns[c], c + 1);
    for (int64_t i = 0; i < list->n; i++) {
        double angles[3];
        orientations_euler(list->quaternions + 4 * i, angles);
        fprintf(out, "%06lld@images %12.6f %12.6f %12.6f %.9g %.9g\n",
                (long long)list->image[i] + 1, angles[0], angles[1], angles[2], list->score[i],
                list->fluence[i]);
    }
}

static status write_with(const char *path, const orientations *list,
                         void (*print)(FILE *out, const orientations *list))
{
    atomic_file *file = NULL;
    TRY(atomic_begin_stream(path, &file));
    print(atomic_stream(file), list);
    return atomic_commit(file);
}

static status write_text(const char *path, const orientations *list)
{
    return write_with(path, list, print_text);
}

static status write_quaternions(const char *path, const orientations *list)
{
    return write_with(path, list, print_quaternions);
}

static status write_star(const char *path, const orientations *list)
{
    return write_with(path, list, print_star);
}

const orientation_format orientation_formats[] = {{"text", ".txt", write_text},
                                                  {"quaternions", ".dat", write_quaternions},
                                                  {"star", ".star", write_star}};
const int n_orientation_formats = (int)(sizeof orientation_formats / sizeof *orientation_formats);
