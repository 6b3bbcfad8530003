/* bench_nufft.h: times NUFFTs and measures their errors, on any device. */
#ifndef BENCH_NUFFT_H
#define BENCH_NUFFT_H

#include <stdio.h>

#include "core/status.h"

/* arguments[1..n-1] are options (--help lists them); prints text, CSV or JSON. */
status bench_nufft(int n, char **arguments, FILE *out);

#endif
