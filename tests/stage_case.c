#include "stage_case.h"

#include "mtip/pointwise.h"
#include "mtip/rotation.h"

stage_setup stage;

double stage_distance(const double *a, const double *b, int64_t n)
{
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return norm > 0 ? sqrt(difference / norm) : sqrt(difference);
}

double stage_either(double single, double wide)
{
    return stage.precision == PRECISION_SINGLE ? single : wide;
}

void *stage_new(int64_t n)
{
    void *memory;
    assert_ok(device_alloc(stage.dev, real_bytes(stage.precision, n), &memory));
    return memory;
}

void *stage_upload(const double *from, int64_t n)
{
    void *memory = stage_new(n);
    assert_ok(device_from_doubles(stage.dev, stage.precision, n, from, memory));
    return memory;
}

void stage_download(const void *from, int64_t n, double *to)
{
    assert_ok(device_to_doubles(stage.dev, stage.precision, n, from, to));
}

void stage_free(void *memory)
{
    device_free(stage.dev, memory);
}

double *stage_rotations(uint64_t seed, int64_t n)
{
    double *u = uniform(3 * n, seed, 0, 1);
    double *quaternions = malloc((size_t)(4 * n + 1) * sizeof *quaternions);
    assert_non_null(quaternions);
    for (int64_t i = 0; i < n; i++)
        rotation_uniform(u + 3 * i, quaternions + 4 * i);
    free(u);
    return quaternions;
}

double *stage_pixels(uint64_t seed, int64_t n, double radius)
{
    double *pixels = uniform(3 * n, seed, -radius, radius);
    for (int64_t p = 0; p < n; p++) {
        double *s = pixels + 3 * p, length = sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
        for (int d = 0; d < 3 && length > radius; d++)
            s[d] *= radius / length;
    }
    return pixels;
}

double *stage_rotate(int64_t n_rotations, const double *quaternions, int64_t n_pixels,
                     const double *pixels)
{
    double *q = malloc((size_t)(3 * n_rotations * n_pixels + 1) * sizeof *q);
    assert_non_null(q);
    for (int64_t r = 0; r < n_rotations; r++) {
        double m[9];
        rotation_matrix(quaternions + 4 * r, m);
        for (int64_t p = 0; p < n_pixels; p++) {
            const double *s = pixels + 3 * p;
            double *to = q + 3 * (r * n_pixels + p);
            for (int d = 0; d < 3; d++)
                to[d] = m[d] * s[0] + m[3 + d] * s[1] + m[6 + d] * s[2];
        }
    }
    return q;
}

double stage_intensity(int64_t n, const double *volume, const double q[3])
{
    double sum = 0;
    for (int64_t z = 0; z < n; z++)
        for (int64_t y = 0; y < n; y++)
            for (int64_t x = 0; x < n; x++)
                sum += volume[(z * n + y) * n + x] *
                       cos(q[0] * (double)centred(x, n) + q[1] * (double)centred(y, n) +
                           q[2] * (double)centred(z, n));
    return sum;
}

int stage_run(const device *dev, precision p, int (*group)(void))
{
    stage = (stage_setup){dev, p};
    return group() != 0;
}
