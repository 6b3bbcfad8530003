#include "map_case.h"

#include "mtip/rotation.h"

#include <math.h>
#include <stdlib.h>

enum { N_BLOBS = 40 };

device *cpu;

double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

double normal(uint64_t *seed)
{
    double u = 1 - uniform(seed), v = uniform(seed);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

void random_rotation(uint64_t *seed, double q[4])
{
    const double u[3] = {uniform(seed), uniform(seed), uniform(seed)};
    rotation_uniform(u, q);
}

void assert_close(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g within %g", a, b, tolerance);
}

void assert_done(status result)
{
    if (result != STATUS_OK) fail_msg("%s: %s", status_text(result), status_message());
}

double *new_map(int64_t n)
{
    double *map = calloc((size_t)(n * n * n), sizeof *map);
    assert_non_null(map);
    return map;
}

double *blobs(int64_t n, uint64_t seed, const alignment *motion)
{
    double *map = new_map(n), r[9];
    rotation_matrix(motion->q, r);
    for (int i = 0; i < N_BLOBS; i++) {
        double y[3], x[3], height = 0.5 + uniform(&seed);
        do {
            for (int d = 0; d < 3; d++)
                y[d] = 0.225 * (double)n * (2 * uniform(&seed) - 1);
        } while (y[0] * y[0] + 1.5 * y[1] * y[1] + 2 * y[2] * y[2] > 0.05 * (double)(n * n));
        for (int d = 0; d < 3; d++)
            x[d] = motion->hand * (r[3 * d] * y[0] + r[3 * d + 1] * y[1] + r[3 * d + 2] * y[2]) +
                   motion->shift[d] + (double)(n / 2);
        for (int64_t v = 0; v < n * n * n; v++) {
            double dx = (double)(v % n) - x[0], dy = (double)(v / n % n) - x[1];
            double dz = (double)(v / n / n) - x[2], square = dx * dx + dy * dy + dz * dz;
            if (square < 80) map[v] += height * exp(-square / (2 * 1.5 * 1.5));
        }
    }
    return map;
}

const alignment still = {{1, 0, 0, 0}, {0, 0, 0}, 1, 0};

alignment random_motion(uint64_t *seed, int hand)
{
    alignment motion = {.hand = hand};
    random_rotation(seed, motion.q);
    for (int d = 0; d < 3; d++)
        motion.shift[d] = 3 * (2 * uniform(seed) - 1);
    return motion;
}

int map_start(void **state)
{
    (void)state;
    return device_create_cpu(1, &cpu) != STATUS_OK;
}

int map_stop(void **state)
{
    (void)state;
    device_destroy(cpu);
    return 0;
}
