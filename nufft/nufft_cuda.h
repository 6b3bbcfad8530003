/* nufft_cuda.h: what the host side of the GPU's backend shares with its kernels; for
   nufft/nufft_cuda*.c[u] only.

   Points are sorted into bins of bin_x x 1 x bin_z cells (1D: bin_x) by the first cell they touch.
   Bins are numbered so that a column (x bin, z bin) holds its bins in order of y, and columns
   follow one another: bin = (z_bin * bins_x + x_bin) * ny + y.  The sorted points stand in slots,
   each bin's slots filled up to a multiple of `pad` with empty ones. */
#ifndef NUFFT_CUDA_H
#define NUFFT_CUDA_H

#include <cuda_runtime_api.h>

#include "core/types.h"
#include "nufft/window.h"

#ifdef MTIP_SINGLE
#define GPU_TILE_WARPS 4 /* of a block; their shared memory must stay below 48 KiB */
#else
#define GPU_TILE_WARPS 2
#endif

enum {
    GPU_THREADS = 128, /* of a block of the other kernels */
    GPU_SCAN = 4096,   /* bins scanned by one block; n_bins_padded is a multiple */
    GPU_PARTS = 20480,
    GPU_PART_BINS = 2048, /* parts of many points, and the bins of one, at most */
    GPU_GROUPS = 320,     /* of 64 parts */
    GPU_SUMS = 64,        /* blocks that sum up strengths */
    GPU_EMPTY = -1,       /* index of an empty slot */
    GPU_SM_THREADS = 256,
    GPU_SM_POINTS = 1024 /* of a subproblem */
};

/* A sorted point: cell = (bin * bin_z + z in bin) * bin_x + x in bin, the point's index with the
   caller, and the arguments of the kernel's polynomials.  In single precision these are 31 + 31 +
   3 x 22 bits: a step of t is 2^-21, which moves a point by 7e-8 cells on average. */
#ifdef MTIP_SINGLE
#define GPU_EXACT_WORDS 1
#define GPU_MOST_CELLS  0x1p31
#define GPU_BAD_CELL    0x7fffffffu /* of a point that is not finite */
typedef struct __attribute__((aligned(16))) gpu_slot {
    uint32_t word[4];
} gpu_slot;
#else
#define GPU_EXACT_WORDS 2
#define GPU_MOST_CELLS  0x1p32
typedef struct __attribute__((aligned(16))) gpu_slot {
    uint32_t cell;
    int32_t index;
    double t[3];
} gpu_slot;
#endif

/* Division by a number known when the plan is made: inverse = (2^32 - 1) / divisor. */
typedef struct gpu_divisor {
    uint32_t divisor, inverse;
} gpu_divisor;

typedef struct gpu_grid {
    int dim, width;
    int nx, ny, nz; /* fine grid */
    real sizes[3];  /* the same */
    bool is_near;   /* all of them at most 2^18 */
    int bin_x, bin_z, bins_x, bins_z, pad;
    int block_y; /* bins of a column that share subproblems; 0 without */
    int64_t n_bins, n_bins_padded, n_cells;
    gpu_divisor by_bin_x, by_bin_z, by_bin, by_ny, by_bins_x; /* by_bin: bin_x * bin_z */
} gpu_grid;

#ifdef __CUDACC__
/* n / by.divisor, and the remainder. The product falls short of the quotient by less than 2. */
static __device__ __forceinline__ uint32_t divide(uint32_t n, gpu_divisor by, uint32_t *remainder)
{
    uint32_t quotient = __umulhi(n, by.inverse), rest = n - quotient * by.divisor;
    bool more = rest >= by.divisor;
    *remainder = more ? rest - by.divisor : rest;
    return more ? quotient + 1 : quotient;
}

/* A slot as it stands in memory, by 128-bit words. */
static __device__ __forceinline__ gpu_slot load_slot(const gpu_slot *from)
{
    gpu_slot slot;
#ifdef MTIP_SINGLE
    *(uint4 *)&slot = *(const uint4 *)from;
#else
    ((double2 *)&slot)[0] = ((const double2 *)from)[0];
    ((double2 *)&slot)[1] = ((const double2 *)from)[1];
#endif
    return slot;
}

static __device__ __forceinline__ void write_slot(gpu_slot *to, const gpu_slot &slot)
{
#ifdef MTIP_SINGLE
    *(uint4 *)to = *(const uint4 *)&slot;
#else
    ((double2 *)to)[0] = ((const double2 *)&slot)[0];
    ((double2 *)to)[1] = ((const double2 *)&slot)[1];
#endif
}
#endif

/* Passed by value to every kernel that spreads or interpolates. */
typedef struct gpu_task {
    gpu_grid g;
    int batch, n_terms;
    int n_paired; /* > 0: so many real vectors, two of which make a complex one; batch counts pairs */
    int64_t n_points;
    int64_t grid_step; /* reals from one vector's grid to the next */
    const gpu_slot *slots;
    const uint32_t *n_slots;
    uint32_t *counter;                             /* 0 at the start */
    int32_t *bad;                                  /* [batch]: set where a strength is not finite */
    const uint32_t *ends, *firsts, *n_subproblems; /* of gpu_points */
    real *grid;
    real *values;
    /* Deterministic plans only, else NULL: see nufft_cuda_exact.cu. */
    double *exact;    /* [GPU_EXACT_WORDS][batch][grid_step] */
    double *rounding; /* [batch][2] */
    double *sums;     /* [batch][GPU_SUMS] */
    real coefficient[WINDOW_MAX_TERMS][WINDOW_MAX_WIDTH];
} gpu_task;

/* Keys and values before and after sorting. */
typedef struct gpu_pairs {
    uint32_t *keys[2], *values[2];
    void *scratch;
    size_t scratch_bytes;
} gpu_pairs;

typedef struct gpu_points {
    gpu_grid g;
    int64_t n;
    bool sorted, stable; /* stable: in an order that only the points decide */
    const real *x[3];
    uint32_t *bins; /* [n_bins_padded] counts, then starts, then ends */
    uint32_t *sums; /* [n_bins_padded / GPU_SCAN] */
    uint32_t *n_slots;
    gpu_slot *slots;
    int32_t *bad;                     /* set where a coordinate is not finite */
    uint32_t *firsts, *n_subproblems; /* NULL without: the first slot of each, in any order */
    /* For many points, else NULL: the points parted by bin >> part_shift. */
    gpu_slot *parted;
    uint32_t *parts, *groups; /* [GPU_PARTS], [GPU_GROUPS] */
    int part_shift, n_parts;
    /* If stable: bins and indices of the points, and [n_bins] where each bin begins among them. */
    gpu_pairs pairs;
    uint32_t *heads;
} gpu_points;

typedef struct gpu_modes {
    int64_t modes[3], fine[3];
    int batch, sign;
    bool real_path, paired; /* paired: real vectors 2i and 2i + 1 are the parts of a complex grid */
    const real *factors[3]; /* per index of the modes */
    real *grid;             /* complex, or half complex on the real path */
    real *modes_of;
    const int32_t *bad_points, *bad;
    uint32_t *counter;
} gpu_modes;

#ifdef __cplusplus
extern "C" {
#endif

/* The kernel for a case, for cudaLaunchKernel with one gpu_task; NULL if there is none. */
const void *PRECISE(gpu_global_kernel)(int dim, bool real_path, bool spread);
/* Spreading only; the bytes of shared memory that a block takes go to *shared. */
const void *PRECISE(gpu_sm_kernel)(const gpu_grid *g, bool real_path, size_t *shared);
const void *PRECISE(gpu_tile_kernel)(int dim, int width, bool real_path, bool spread,
                                     bool deterministic);
const void *gpu_tensor_spread_kernel(int width, bool real_path, bool deterministic);
const void *gpu_tensor_interpolate_kernel(int width, bool real_path);

/* Sorting for deterministic plans: counts bins and makes pairs; then, with the starts of the bins,
   makes slots. By key, equal ones as they come; the scratch memory it takes. */
void PRECISE(gpu_begin_stable)(const gpu_points *p, cudaStream_t stream);
cudaError_t PRECISE(gpu_end_stable)(const gpu_points *p, cudaStream_t stream);
cudaError_t gpu_sort_pairs(const gpu_pairs *p, int64_t n, int bits, cudaStream_t stream);
cudaError_t gpu_sort_pairs_scratch(int64_t n, size_t *bytes);
/* Around the spreading of deterministic plans. */
cudaError_t PRECISE(gpu_begin_exact)(const gpu_task *a, cudaStream_t stream);
cudaError_t PRECISE(gpu_end_exact)(const gpu_task *a, cudaStream_t stream);

cudaError_t PRECISE(gpu_sort)(const gpu_points *p, cudaStream_t stream);
/* Single precision only. Lets the kernels have the shared memory that they take; *fits if a block may
   have so much. */
cudaError_t gpu_prepare_parts(int available, bool *fits);
void gpu_sort_by_parts(const gpu_points *p, cudaStream_t stream);
cudaError_t PRECISE(gpu_insert)(const gpu_modes *m, cudaStream_t stream);
cudaError_t PRECISE(gpu_extract)(const gpu_modes *m, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
