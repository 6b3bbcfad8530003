/* nufft_cuda_tensor.h: what is common to 3D spreading and interpolation in double precision by
   matrix products on FP64 tensor cores (sm_90), for kernels of 9 cells and more.

   As in nufft_cuda_tile.cu a window of 16 x W x 16 cells stands in registers, a torus in y; here
   the four warps of a block share it.  Warp w owns the planes w, w + 4, ..; of the W % 4 planes
   left over every warp holds a part, and they take turns by groups of 8 slots.

   Spreading, for a group and a plane r:
       window[x, (z, part)] += sum_j (kx[x, j] ky[r, j]) (c[part, j] kz[z, j])      M=x, N=z, K=j
   Interpolation:
       line[z, j] = sum_x window[z, x] (kx[x, j] ky[r, j]),  c_j = sum_z kz[z, j] line[z, j]
                                                                                   M=z, N=j, K=x
   A stage is 32 slots: while the warps multiply stage s they evaluate the kernels of s + 1 into
   the other half of a double buffer; slots and strengths arrive by asynchronous copies before. */
#ifndef NUFFT_CUDA_TENSOR_H
#define NUFFT_CUDA_TENSOR_H

#include "nufft/nufft_cuda_kernel.h"

enum { GPU_WARPS = 4, P = 16, STAGE = 32, GROUPS = 4, RING = 8 };

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define HAVE_TENSOR 0
#else
#define HAVE_TENSOR 1
#endif

/* d += a b, 16 x 8 x 8; the two k of a lane are its own choice as long as a and b agree. */
static __device__ __forceinline__ void multiply(double d[4], const double a[4], double b0,
                                                double b1)
{
#if HAVE_TENSOR
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b0), "d"(b1));
#endif
}

/* Copies BYTES (8 or 16) to shared memory; zeros if !valid. */
template <int BYTES>
static __device__ __forceinline__ void copy_async(void *to, const void *from, bool valid)
{
#if HAVE_TENSOR
    uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
    int size = valid ? BYTES : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(BYTES),
                 "r"(size)
                 : "memory");
#endif
}

static __device__ __forceinline__ void copies_done()
{
#if HAVE_TENSOR
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* A group's place: column, or -1 for a group past the end, and the first cells of its window. */
typedef struct __attribute__((aligned(16))) group {
    int column, y, x0, z0;
} group;

template <int W> struct shape {
    enum { FULL = W / 4, REST = W % 4, PLANES = FULL + (REST ? REST : 0) };
};

/* The kernel values of panels i and W-1-i; the coefficients are constant operands. */
template <int W>
static __device__ __forceinline__ void panel_pair(const gpu_task &a, int i, double t, double *left,
                                                  double *right)
{
    enum { N = W <= 12 ? W + 1 : W, EVEN = (N - 1) / 2 * 2, ODD = (N - 2) / 2 * 2 + 1 };
    double u = t * t, even = a.coefficient[EVEN][i], odd = a.coefficient[ODD][i];
#pragma unroll
    for (int m = EVEN - 2; m >= 0; m -= 2)
        even = even * u + a.coefficient[m][i];
#pragma unroll
    for (int m = ODD - 2; m >= 1; m -= 2)
        odd = odd * u + a.coefficient[m][i];
    *left = 2 * i + 1 == W ? even : even + odd * t;
    *right = even - odd * t;
}

/* Where the kernel values of a stage go: [row][slot], rows of STEP. In spreading the z rows hold
   value times strength, the parts in turn; in interpolation value only. */
template <int W, int STEP, int ZPARTS> struct stage {
    double x[P][STEP], y[W][STEP], z[P * ZPARTS][STEP];
};

template <int W, int STEP, int ZPARTS>
static __device__ __forceinline__ void put(stage<W, STEP, ZPARTS> &to, int dim, int row, int lane,
                                           double value, const double c[2])
{
    if (dim == 0) {
        to.x[row][lane] = value;
    } else if (dim == 1) {
        to.y[row][lane] = value;
    } else if (ZPARTS == 2) {
        to.z[2 * row][lane] = value * c[0];
        to.z[2 * row + 1][lane] = value * c[1];
    } else {
        to.z[row][lane] = value * c[0];
    }
}

/* This warp's share of the kernel values of one slot per lane. EXACT: the kernel's width is W. */
template <int WARP, int W, bool EXACT, int STEP, int ZPARTS>
static __device__ __forceinline__ void evaluate_share(const gpu_task &a, const double t[3],
                                                      const int offset[3], const double c[2],
                                                      int lane, stage<W, STEP, ZPARTS> &to)
{
    const int w = EXACT ? W : a.g.width;
    if (EXACT) {
        enum { PAIRS = (W + 1) / 2 };
#pragma unroll
        for (int unit = WARP; unit < 3 * PAIRS; unit += GPU_WARPS) {
            int dim = unit / PAIRS, i = unit % PAIRS, wrap = dim == 1 ? W : P;
            double left, right;
            panel_pair<W>(a, i, t[dim], &left, &right);
            int row = offset[dim] + i, other = offset[dim] + W - 1 - i;
            if (dim == 1) {
                row = row < wrap ? row : row - wrap;
                other = other < wrap ? other : other - wrap;
            }
            put(to, dim, row, lane, left, c);
            if (2 * i + 1 != W) put(to, dim, other, lane, right, c);
        }
    } else {
#pragma unroll
        for (int dim = 0; dim < 3; dim++)
#pragma unroll 1
            for (int i = (WARP + dim) % GPU_WARPS; i < w; i += GPU_WARPS) {
                double sum = a.coefficient[a.n_terms - 1][i];
                for (int m = a.n_terms - 2; m >= 0; m--)
                    sum = sum * t[dim] + a.coefficient[m][i];
                int row = offset[dim] + i;
                if (dim == 1 && row >= W) row -= W;
                put(to, dim, row, lane, sum, c);
            }
    }
    /* Zeros where the window is wider than the kernel. */
    const double none[2] = {0, 0};
    for (int i = w + WARP; i < P; i += GPU_WARPS) {
        put(to, 0, (offset[0] + i) % P, lane, 0, none);
        put(to, 2, (offset[2] + i) % P, lane, 0, none);
    }
    if (!EXACT)
        for (int i = w + WARP; i < W; i += GPU_WARPS)
            put(to, 1, (offset[1] + i) % W, lane, 0, none);
}

template <int W, bool EXACT, int STEP, int ZPARTS>
static __device__ __forceinline__ void evaluate(const gpu_task &a, const gpu_slot &slot,
                                                const double c[2], bool valid, int warp, int lane,
                                                stage<W, STEP, ZPARTS> &to, group *groups)
{
    spot s = spot_of(a.g, slot.cell);
    const double t[3] = {slot.t[0], slot.t[1], slot.t[2]};
    const int offset[3] = {s.x, s.y % W, s.z};
    if (warp == 0 && lane % 8 == 0) {
        uint32_t xb, zb = divide(s.column, a.g.by_bins_x, &xb);
        groups[lane / 8] =
            group{valid ? s.column : -1, s.y, (int)xb * a.g.bin_x, (int)zb * a.g.bin_z};
    }
    if (warp == 0)
        evaluate_share<0, W, EXACT>(a, t, offset, c, lane, to);
    else if (warp == 1)
        evaluate_share<1, W, EXACT>(a, t, offset, c, lane, to);
    else if (warp == 2)
        evaluate_share<2, W, EXACT>(a, t, offset, c, lane, to);
    else
        evaluate_share<3, W, EXACT>(a, t, offset, c, lane, to);
}

/* The slots of the stage at `base` into the ring, by the block's first 64 threads. */
static __device__ __forceinline__ void fetch_slots(const gpu_task &a, uint32_t base, uint32_t end,
                                                   gpu_slot *to)
{
    int i = threadIdx.x;
    if (i >= 64) return;
    uint32_t at = base + i / 2 < end ? base + i / 2 : end - 1;
    copy_async<16>((char *)(to + i / 2) + 16 * (i % 2), (const char *)(a.slots + at) + 16 * (i % 2),
                   true);
}

/* The strengths of slots that have arrived, by one warp. */
template <bool REAL>
static __device__ __forceinline__ void fetch_strengths(const gpu_task &a, int64_t vector,
                                                       uint32_t base, uint32_t end,
                                                       const gpu_slot *slots, double *to, int lane)
{
    enum { NC = REAL ? 1 : 2 };
    int32_t index = slots[lane].index;
    bool valid = base + lane < end && index >= 0;
    if (!REAL && a.n_paired) {
        bool both = valid && 2 * vector + 1 < a.n_paired;
        int64_t at = valid ? 2 * vector * a.n_points + index : 0;
        copy_async<8>(to + NC * lane, a.values + at, valid);
        copy_async<8>(to + NC * lane + 1, a.values + (both ? at + a.n_points : 0), both);
        return;
    }
    int64_t at = valid ? vector * a.n_points + index : 0;
    copy_async<8 * NC>(to + NC * lane, a.values + NC * at, valid);
}

/* Which plane of the grid (not wrapped) register plane r holds when the window starts at y. */
template <int W> static __device__ __forceinline__ int plane_of(int r, int y)
{
    int y_mod = y % W;
    return y + r - y_mod + (r < y_mod ? W : 0);
}

#endif
