#include "trial_particle.h"

#include "mtip/pointwise.h"
#include "mtip/random.h"
#include "mtip/rotation.h"

#include <math.h>

static const double sigma_in_voxels = 1.2;

trial_particle trial_particle_make(double diameter, double voxel)
{
    trial_particle p = {.sigma = sigma_in_voxels * voxel};
    random_stream stream;
    random_start(&stream, 1, RANDOM_PHASE, 0, 0);
    for (int b = 0; b < TRIAL_BLOBS; b++) {
        const double radius = 0.45 * diameter * cbrt(random_uniform(&stream));
        const double z = 2 * random_uniform(&stream) - 1, turn = 2 * M_PI * random_uniform(&stream);
        p.at[b][0] = radius * sqrt(1 - z * z) * cos(turn);
        p.at[b][1] = radius * sqrt(1 - z * z) * sin(turn);
        p.at[b][2] = radius * z;
    }
    return p;
}

static double density_at(const trial_particle *p, const double x[3])
{
    const double narrow = 1 / (2 * p->sigma * p->sigma);
    double sum = 0;
    for (int b = 0; b < TRIAL_BLOBS; b++) {
        double square = 0;
        for (int d = 0; d < 3; d++)
            square += (x[d] - p->at[b][d]) * (x[d] - p->at[b][d]);
        if (square * narrow < 30) sum += exp(-square * narrow);
    }
    return sum;
}

void trial_particle_density(const trial_particle *p, double voxel, double photons, int64_t n,
                            double *density)
{
    const double sigma = p->sigma / voxel,
                 height = sqrt(photons) / pow(2 * M_PI * sigma * sigma, 1.5);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n * n * n; i++) {
        const double x[3] = {(double)centred(i % n, n) * voxel,
                             (double)centred(i / n % n, n) * voxel,
                             (double)centred(i / n / n, n) * voxel};
        density[i] = height * density_at(p, x);
    }
}

/* Single precision: a phase is a few times 2 pi, and photons are counted of what comes out. */
void trial_particle_intensity(const trial_particle *p, const double q[4], int64_t n,
                              const double *s, float *intensity)
{
    double r[9];
    float at[TRIAL_BLOBS][3];
    rotation_matrix(q, r);
    for (int b = 0; b < TRIAL_BLOBS; b++)
        for (int d = 0; d < 3; d++)
            at[b][d] = (float)(2 * M_PI *
                               (r[3 * d] * p->at[b][0] + r[3 * d + 1] * p->at[b][1] +
                                r[3 * d + 2] * p->at[b][2]));
    const double width = 4 * M_PI * M_PI * p->sigma * p->sigma;
    for (int64_t i = 0; i < n; i++, s += 3) {
        const float x = (float)s[0], y = (float)s[1], z = (float)s[2];
        float re = 0, im = 0;
        for (int b = 0; b < TRIAL_BLOBS; b++) {
            const float phase = x * at[b][0] + y * at[b][1] + z * at[b][2];
            re += cosf(phase);
            im += sinf(phase);
        }
        intensity[i] = (re * re + im * im) * expf((float)-width * (x * x + y * y + z * z));
    }
}
