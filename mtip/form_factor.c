#include "mtip/form_factor.h"

#include <math.h>
#include <xraylib.h>

static status xraylib_failure(int element, xrl_error *error)
{
    status code = status_fail(STATUS_INPUT, __FILE__, __LINE__,
                              "no form factor for atomic number %d: %s", element, error->message);
    xrl_error_free(error);
    return code;
}

/* xraylib's tables do not reach down to the direct beam, and f0 is the number of electrons there. */
static const double least_q = 1e-6;

/* xraylib: f' in electrons, f'' with the opposite sign, energies in keV. */
status form_factor_table(int element, const scatter_settings *settings, int64_t n,
                         const double *lengths, double *real_part, double *imaginary_part)
{
    xrl_error *error = NULL;
    double kilo_volts = settings->photon_energy / 1000;
    double dispersion = settings->dispersion ? Fi(element, kilo_volts, &error) : 0;
    if (error) return xraylib_failure(element, error);
    *imaginary_part = settings->absorption ? -Fii(element, kilo_volts, &error) : 0;
    if (error) return xraylib_failure(element, error);
    for (int64_t i = 0; i < n; i++) {
        real_part[i] = FF_Rayl(element, fmax(0.5 * lengths[i], least_q), &error) + dispersion;
        if (error) return xraylib_failure(element, error);
    }
    return STATUS_OK;
}

/* A Chebyshev series in u = 2 (s/s_cut)^2 - 1 = cos(angle), where angle = 2 acos(s/s_cut). */
status form_factor_fit(int element, const scatter_settings *settings, double s_cut,
                       form_factor *fitted)
{
    enum { N = 128 };
    double lengths[N], samples[N], pi = acos(-1);
    form_factor f = {.s_cut = s_cut,
                     .n_terms = (int)fmin(ceil(3 + 9 * s_cut), FORM_FACTOR_MAX_TERMS)};
    for (int i = 0; i < N; i++)
        lengths[i] = s_cut * cos(0.5 * pi * (i + 0.5) / N);
    TRY(form_factor_table(element, settings, N, lengths, samples, &f.imaginary));
    for (int k = 0; k < f.n_terms; k++)
        for (int i = 0; i < N; i++)
            f.series[k] += (k ? 2.0 : 1.0) / N * samples[i] * cos(k * pi * (i + 0.5) / N);
    *fitted = f;
    return STATUS_OK;
}

double form_factor_at(const form_factor *f, double s)
{
    double angle = 2 * acos(fmin(s / f->s_cut, 1)), sum = 0;
    for (int k = 0; k < f->n_terms; k++)
        sum += f->series[k] * cos(k * angle);
    return sum;
}
