/* atom_modes.h: the Fourier coefficients of a structure in a periodic box, by type 1 NUFFTs. */
#ifndef MTIP_ATOM_MODES_H
#define MTIP_ATOM_MODES_H

#include "mtip/scatter.h"

typedef struct mode_grid {
    int64_t n;        /* modes along an edge */
    double box;       /* Angstrom; the atoms, about their centre of electrons, must lie inside */
    double s_cut;     /* 1/Angstrom: coefficients from here on are 0 */
    double bandwidth; /* beta of the window below; 0 leaves it out */
    bool smooth;      /* form factors as polynomials (form_factor.h), not as tables */
} mode_grid;

/* W(s) = exp(beta (sqrt(1 - (s/s_cut)^2) - 1)), the exponential of a semicircle (Barnett, Magland
   and af Klinteberg, SIAM J. Sci. Comput. 41, C479, 2019), for 0 <= s < s_cut.  It ends at s_cut
   and its transform falls to about exp(-beta) of its middle at r = beta / (2 pi s_cut). */
double mode_window(const mode_grid *grid, double s);

/* modes [n][n][n] complex double in device memory, centred as in nufft.h: W(|s|) F(s) of scatter.h
   at s = k/box, to `tolerance` in the l2 sense.  One transform for each element; where B factors
   differ, one for each Chebyshev node of exp(-B |s|^2/4) in B, an interpolation whose nodes are as
   many as the tolerance needs.  Errors as in scatter_create_nufft. */
status atom_modes(const device *dev, const atom *atoms, int64_t n_atoms,
                  const scatter_settings *settings, const mode_grid *grid, double tolerance,
                  void *modes);

#endif
