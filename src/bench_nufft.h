/* bench_nufft.h: times one NUFFT and measures its error. */
#ifndef BENCH_NUFFT_H
#define BENCH_NUFFT_H

#include "core/status.h"

/* argv[1..argc-1] are options (--help lists them); prints a table or JSON to stdout. */
status bench_nufft(int argc, char **argv);

#endif
