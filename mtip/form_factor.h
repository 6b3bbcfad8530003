/* form_factor.h: form factors of atoms, f0 + f' and f'', from xraylib's tables.

   The tables are rounded and their interpolation has kinks: they lie off a smooth curve by up to
   1e-3 of their value (carbon, s to 0.6 1/Angstrom; most elements and ranges less).  The density of
   an atom whose transform has kinks reaches far beyond it; where that matters, a smooth curve takes
   their place. */
#ifndef MTIP_FORM_FACTOR_H
#define MTIP_FORM_FACTOR_H

#include "mtip/scatter.h"

/* real_part[i] = f0(lengths[i]/2) + f' and *imaginary_part = f'' in electrons (f' and f'' are 0
   unless asked for) of an element, for lengths [n] of s in 1/Angstrom; STATUS_INPUT when there is no
   table for it. */
status form_factor_table(int element, const scatter_settings *settings, int64_t n,
                         const double *lengths, double *real_part, double *imaginary_part);

/* The same as a polynomial in |s|^2 for 0 <= s <= s_cut (1/Angstrom), of as many terms as follow the
   tables where these are smooth. */
enum { FORM_FACTOR_MAX_TERMS = 24 };
typedef struct form_factor {
    double s_cut, imaginary;
    int n_terms;
    double series[FORM_FACTOR_MAX_TERMS];
} form_factor;

status form_factor_fit(int element, const scatter_settings *settings, double s_cut,
                       form_factor *fitted);
/* Its real part at s. */
double form_factor_at(const form_factor *f, double s);

#endif
