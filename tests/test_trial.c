/* The particle of trials: the Fourier transform of its density is what its intensity says. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mtip/pointwise.h"
#include "mtip/rotation.h"
#include "trial_particle.h"

enum { N = 48 };

/* |sum of density exp(2 pi i s . x)|^2, x in Angstrom. */
static double transform(const double *density, double voxel, const double s[3])
{
    double re = 0, im = 0;
    for (int64_t i = 0; i < N * N * N; i++) {
        const double phase =
            2 * M_PI * voxel *
            (s[0] * (double)centred(i % N, N) + s[1] * (double)centred(i / N % N, N) +
             s[2] * (double)centred(i / N / N, N));
        re += density[i] * cos(phase);
        im += density[i] * sin(phase);
    }
    return re * re + im * im;
}

static void the_density_has_the_intensity_of_the_formula(void **state)
{
    (void)state;
    static double density[N * N * N];
    const double voxel = 1.5, photons = 3, identity[4] = {1, 0, 0, 0};
    const double s[4][3] = {{0, 0, 0}, {0.02, 0, 0}, {0.01, -0.03, 0.02}, {0.05, 0.04, -0.06}};
    float found[4];
    const trial_particle p = trial_particle_make(30, voxel);
    trial_particle_density(&p, voxel, photons, N, density);
    trial_particle_intensity(&p, identity, 4, s[0], found);
    for (int i = 0; i < 4; i++)
        assert_true(fabs(transform(density, voxel, s[i]) - photons * found[i]) <=
                    1e-4 * photons * TRIAL_BLOBS);
}

/* A pixel at s samples the particle at R^T s. */
static void a_rotated_particle_has_a_rotated_intensity(void **state)
{
    (void)state;
    const double u[3] = {0.3, 0.6, 0.1}, identity[4] = {1, 0, 0, 0}, s[3] = {0.03, -0.02, 0.04};
    double q[4], r[9], back[3];
    float turned, found;
    const trial_particle p = trial_particle_make(30, 1.5);
    rotation_uniform(u, q);
    rotation_matrix(q, r);
    for (int i = 0; i < 3; i++)
        back[i] = r[i] * s[0] + r[3 + i] * s[1] + r[6 + i] * s[2];
    trial_particle_intensity(&p, q, 1, s, &turned);
    trial_particle_intensity(&p, identity, 1, back, &found);
    assert_true(fabs((double)turned - (double)found) <= 1e-4 * (double)found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_density_has_the_intensity_of_the_formula),
        cmocka_unit_test(a_rotated_particle_has_a_rotated_intensity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
