/* kernel_pairs.h: arrays that are the same on the CPU and on a GPU, to compare what their kernels make
   of them. */
#ifndef KERNEL_PAIRS_H
#define KERNEL_PAIRS_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mtip/kernels.h"
#include "uniform.h"

enum { CPU = 0, GPU = 1 };

/* Set before tests run. */
typedef struct pair_setup {
    device *dev[2];
    precision precision;
} pair_setup;

extern pair_setup test;

typedef enum content { REALS, DOUBLES, INTEGERS } content;

/* The same array in the memory of both devices. */
typedef struct pair {
    content kind;
    int64_t n;
    void *on[2];
} pair;

/* Fails the test unless the status is good. */
void must(status result);

/* The statement for each device d. */
#define BOTH(call)                       \
    for (int d = CPU; d <= GPU; d++) {   \
        const device *dev = test.dev[d]; \
        must(call);                      \
    }
#define MATCH   match_kernels_of(dev, test.precision)
#define IMAGE   image_kernels_of(dev, test.precision)
#define VOLUME  volume_kernels_of(dev, test.precision)
#define CG      cg_kernels_of(dev, test.precision)
#define PHASE   phase_kernels_of(dev, test.precision)
#define SCATTER scatter_kernels_of(dev)

/* The one for the precision under test. */
double either(double single, double wide);

/* Pairs: of values (n of the kind), uniform reals, zeros, doubles that are all the same. */
pair new_pair(content kind, int64_t n, const void *values);
pair reals(int64_t n, uint64_t seed, double low, double high);
pair zeros(content kind, int64_t n);
pair same(int64_t n, double value);
void free_pairs(pair *first, int n);
#define FREE(...) \
    free_pairs((pair[]){__VA_ARGS__}, (int)(sizeof((pair[]){__VA_ARGS__}) / sizeof(pair)))

/* What device d holds, as doubles that the caller frees. */
double *download(const pair *p, int d);
/* The test fails unless the GPU's are within the tolerance, in the l2 norm relative to the CPU's. */
void check_values(int64_t n, const double *cpu, const double *gpu, double tolerance, int line);
void check_pair(const pair *p, double tolerance, int line);
#define SAME_BITS(p) check_pair(&(p), 0, __LINE__)
#define SAME(p)      check_pair(&(p), either(1e-5, 1e-10), __LINE__)

#endif
