/* evaluate.c: see evaluate.h.

   Every image alone proposes a frame, true^-1 estimated; the proposal with the lowest median error
   is then improved by averaging the proposals of the images it explains. */
#include "mtip/evaluate.h"

#include "mtip/rotation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Enough proposals to meet a good one even if only a few percent of the images are right. */
enum { N_PROPOSALS = 300, N_JUDGES = 3000 };

static const double degrees = 57.29577951308232;

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of every stride-th proposal, the angle to the frame; errors is scratch [n_images]. */
static double median_angle(int64_t n_images, int64_t stride, const double *proposals,
                           const double frame[4], double *errors)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n_images; i += stride)
        errors[count++] = rotation_angle(proposals + 4 * i, frame);
    qsort(errors, (size_t)count, sizeof *errors, ascending);
    return count % 2 ? errors[count / 2] : 0.5 * (errors[count / 2 - 1] + errors[count / 2]);
}

/* The mean of the proposals within `limit` of the frame. */
static void average(int64_t n_images, const double *proposals, double limit, const double frame[4],
                    double mean[4])
{
    double sum[4] = {0, 0, 0, 0}, norm = 0;
    for (int64_t i = 0; i < n_images; i++) {
        const double *q = proposals + 4 * i;
        if (rotation_angle(q, frame) > limit) continue;
        double side = q[0] * frame[0] + q[1] * frame[1] + q[2] * frame[2] + q[3] * frame[3];
        for (int d = 0; d < 4; d++)
            sum[d] += side < 0 ? -q[d] : q[d];
    }
    for (int d = 0; d < 4; d++)
        norm += sum[d] * sum[d];
    for (int d = 0; d < 4; d++)
        mean[d] = norm > 0 ? sum[d] / sqrt(norm) : frame[d];
}

static void find_frame(int64_t n_images, const double *proposals, double *errors, double frame[4])
{
    int64_t step = n_images / N_PROPOSALS + 1, stride = n_images / N_JUDGES + 1;
    double best = INFINITY;
    for (int64_t i = 0; i < n_images; i += step) {
        double median = median_angle(n_images, stride, proposals, proposals + 4 * i, errors);
        if (!(median < best)) continue;
        best = median;
        memcpy(frame, proposals + 4 * i, 4 * sizeof *frame);
    }
    best = median_angle(n_images, 1, proposals, frame, errors);
    for (int i = 0; i < 50; i++) {
        double mean[4];
        average(n_images, proposals, 2 * best + 1e-12, frame, mean);
        double median = median_angle(n_images, 1, proposals, mean, errors);
        if (!(median < best)) break;
        best = median;
        memcpy(frame, mean, sizeof mean);
    }
}

static status check(const char *what, int64_t n, const double *q)
{
    for (int64_t i = 0; i < n; i++, q += 4) {
        double norm = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
        if (!(fabs(norm - 1) < 1e-3))
            FAIL(STATUS_NUMERIC, "%s orientation %lld has norm %g, expected 1", what, (long long)i,
                 sqrt(norm));
    }
    return STATUS_OK;
}

status orientation_error_find(int64_t n_images, const double *estimated, const double *truth,
                              double *errors_degrees, orientation_error *found)
{
    if (n_images < 1) FAIL(STATUS_INVALID, "no orientations to compare");
    TRY(check("estimated", n_images, estimated));
    TRY(check("true", n_images, truth));
    double *proposals = malloc((size_t)n_images * 5 * sizeof *proposals);
    if (!proposals)
        FAIL(STATUS_RESOURCE, "no memory to compare %lld orientations", (long long)n_images);
    double *errors = proposals + 4 * n_images;
    for (int64_t i = 0; i < n_images; i++) {
        double back[4];
        rotation_inverse(truth + 4 * i, back);
        rotation_multiply(back, estimated + 4 * i, proposals + 4 * i);
    }
    find_frame(n_images, proposals, errors, found->frame);
    found->median_degrees = degrees * median_angle(n_images, 1, proposals, found->frame, errors);
    int64_t n_within = 0;
    for (int64_t i = 0; i < n_images; i++) {
        double error = degrees * rotation_angle(proposals + 4 * i, found->frame);
        if (error <= 10) n_within++;
        if (errors_degrees) errors_degrees[i] = error;
    }
    found->within_10_degrees = (double)n_within / (double)n_images;
    free(proposals);
    return STATUS_OK;
}
