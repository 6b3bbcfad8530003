/* types.h: the two precisions, chosen at run time from one set of sources.

   A file that computes in `real` is compiled twice, with and without MTIP_SINGLE, keeps all its
   functions static and exports one table of function pointers named PRECISE(table).  Code that
   holds such tables works on `void *` arrays of reals and passes scalars as double. */
#ifndef MTIP_TYPES_H
#define MTIP_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum precision { PRECISION_SINGLE, PRECISION_DOUBLE } precision;

/* Bytes of one real number, and of n. */
static inline size_t real_size(precision p)
{
    return p == PRECISION_SINGLE ? sizeof(float) : sizeof(double);
}

static inline int64_t real_bytes(precision p, int64_t n)
{
    return n * (int64_t)real_size(p);
}

#ifdef MTIP_SINGLE
typedef float real;
#define PRECISE(name)  name##_single
#define REAL_EPSILON   1.1920929e-7
#define REAL_PRECISION PRECISION_SINGLE
#else
typedef double real;
#define PRECISE(name)  name##_double
#define REAL_EPSILON   2.220446049250313e-16
#define REAL_PRECISION PRECISION_DOUBLE
#endif

/* Before a function whose loops should use the widest vectors of the machine it runs on. It must
   not contain OpenMP regions (their bodies are compiled once only). */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Levels of features: "arch=haswell" would be taken on a Haswell only, not on what came after. */
#if __GNUC__ >= 12
#define WIDEST_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDEST_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define WIDEST_VECTORS
#endif

#endif
