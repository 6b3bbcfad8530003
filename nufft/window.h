/* window.h: the spreading kernel and its Fourier transform, computed in double on the host.

   The kernel is the prolate spheroidal wave function psi_0 of bandwidth c = pi w (1 - 1/(2 sigma))
   on [-w/2, w/2] (Slepian 1961: of all functions supported there the one whose transform is most
   concentrated), scaled to 1 at the centre and replaced by one polynomial a grid cell.  What is
   deconvolved is the transform of these polynomials, not of psi_0. */
#ifndef NUFFT_WINDOW_H
#define NUFFT_WINDOW_H

#include "core/status.h"
#include "core/types.h"

enum { WINDOW_MAX_WIDTH = 16, WINDOW_MAX_TERMS = 16 };

/* A point at u (in cells) touches the cells s .. s + width - 1, s = ceil(u - width/2), with the
   weights p_i(t), t = 2 (s - (u - width/2)) - 1 in [-1, 1),
   p_i(t) = sum_m coefficient[m][i] t^m, m < n_terms. Panels are mirror images of one another:
   coefficient[m][width-1-i] = (-1)^m coefficient[m][i]. */
typedef struct window {
    int width, n_terms;
    double coefficient[WINDOW_MAX_TERMS][WINDOW_MAX_WIDTH];
} window;

/* The kernel of this width for a fine grid sigma times finer than the modes. */
void window_make(int width, double sigma, window *made);

/* The root mean square, over modes and positions in the cell, of the relative error that this
   kernel makes in one dimension of `modes` modes on `fine` cells. */
double window_error(const window *w, int64_t modes, int64_t fine);

/* What the outermost mode is multiplied with over what mode 0 is: factors[modes/2] / factors[0]. */
double window_edge(const window *w, int64_t modes, int64_t fine);

/* factors[k] = 1 / (transform of the kernel at mode k), k = 0..modes/2: what modes +-k are to be
   multiplied with. */
void window_factors(const window *w, int64_t modes, int64_t fine, double *factors);

#endif
