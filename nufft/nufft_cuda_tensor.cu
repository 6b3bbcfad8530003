/* nufft_cuda_tensor.cu: 3D spreading and interpolation in double precision by matrix products on
   FP64 tensor cores (sm_90), for kernels of 9 cells and more.

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
#include "nufft/nufft_cuda_kernel.h"

#ifndef REAL_BLOCKS
#define REAL_BLOCKS 4 /* a processor holds: measured */
#endif

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

/* Cells of the window past the end of the grid; the grid is larger than the window. */
static __device__ __forceinline__ uint32_t wrapped(uint32_t i, uint32_t n)
{
    return i < n ? i : i - n;
}

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

/* Adds a lane's part of plane number `plane` of the window to the grid and clears it. */
template <bool REAL>
static __device__ __forceinline__ void retire(const gpu_task &a, double *grid, const group &at,
                                              int plane, int lane, double (*sum)[4])
{
    enum { TILES = REAL ? 2 : 4 };
    uint32_t nx = a.g.nx, nz = a.g.nz, step = (uint32_t)a.g.ny * nx;
    uint32_t x = at.x0 + (lane >> 2), left = wrapped(x, nx), right = wrapped(x + 8, nx);
    uint32_t row = wrapped(plane, a.g.ny) * nx;
#pragma unroll
    for (int n = 0; n < TILES; n++) {
        if (REAL) {
            uint32_t z = at.z0 + 8 * n + 2 * (lane & 3);
            double *low = grid + (row + wrapped(z, nz) * step);
            double *high = grid + (row + wrapped(z + 1, nz) * step);
            atomicAdd(low + left, sum[n][0]);
            atomicAdd(high + left, sum[n][1]);
            atomicAdd(low + right, sum[n][2]);
            atomicAdd(high + right, sum[n][3]);
        } else {
            uint32_t first = row + wrapped(at.z0 + 4 * n + (lane & 3), nz) * step;
            add_cell<false>(grid, first + left, sum[n][0], sum[n][1]);
            add_cell<false>(grid, first + right, sum[n][2], sum[n][3]);
        }
        sum[n][0] = sum[n][1] = sum[n][2] = sum[n][3] = 0;
    }
}

/* A strength that is not finite: of a pair, only the part that is bad may suffer. */
template <bool REAL> static __device__ void mark_bad(const gpu_task &a, int64_t vector, double c[2])
{
    if (REAL || !a.n_paired) {
        a.bad[vector] = 1;
        return;
    }
    for (int part = 0; part < 2; part++)
        if (!isfinite(c[part])) {
            a.bad[2 * vector + part] = 1;
            c[part] = 0;
        }
}

template <int W, bool REAL, bool EXACT>
static __global__ void __launch_bounds__(GPU_THREADS, REAL ? REAL_BLOCKS : 2)
    spread_tensor(const __grid_constant__ gpu_task a)
{
    enum { NC = REAL ? 1 : 2, TILES = 2 * NC, STEP = 40, FULL = W / 4, REST = W % 4 };
    enum { HELD = FULL + REST };
    typedef stage<W, STEP, NC> buffer;
    __shared__ __align__(16) buffer buffers[2];
    __shared__ __align__(16) gpu_slot slots[4][STAGE];
    __shared__ __align__(16) double strengths[2][STAGE * NC];
    __shared__ group groups[2][GROUPS];
    __shared__ uint32_t shared_task;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, row = lane >> 2, col = lane & 3;
    task_list tasks = make_tasks(a, gridDim.x, 8192);
    double sum[HELD][TILES][4];
#pragma unroll
    for (int i = 0; i < HELD; i++)
#pragma unroll
        for (int n = 0; n < TILES * 4; n++)
            sum[i][n / 4][n % 4] = 0;
    for (;;) {
        uint32_t first, end;
        int vector;
        group at_group = {-1, 0, 0, 0};
        if (threadIdx.x == 0) shared_task = atomicAdd(a.counter, 1);
        __syncthreads();
        bool more = find_task(a, tasks, shared_task, &vector, &first, &end);
        if (!more) break;
        double *grid = a.grid + vector * a.grid_step;
        int n_stages = (int)((end - first + STAGE - 1) / STAGE);
        fetch_slots(a, first, end, slots[0]);
        if (n_stages > 1) fetch_slots(a, first + STAGE, end, slots[1]);
        copies_done();
        __syncthreads();
        if (warp == 0) fetch_strengths<REAL>(a, vector, first, end, slots[0], strengths[0], lane);
        copies_done();
        __syncthreads();
        /* s = -1 only evaluates the first stage. */
#pragma unroll 1
        for (int s = -1; s < n_stages; s++) {
            uint32_t base = first + (s + 1) * STAGE; /* of the stage to evaluate */
            if (s + 2 < n_stages && warp == (s & 3))
                fetch_strengths<REAL>(a, vector, base + STAGE, end, slots[(s + 2) & 3],
                                      strengths[s & 1], lane);
            if (s + 3 < n_stages) fetch_slots(a, base + 2 * STAGE, end, slots[(s + 3) & 3]);
            if (s >= 0) {
                const buffer &b = buffers[s & 1];
#pragma unroll 1
                for (int k = 0; k < GROUPS; k++) {
                    group g = groups[s & 1][k];
                    if (g.column < 0) break;
                    if (g.column != at_group.column || g.y != at_group.y) {
                        if (at_group.column >= 0) {
                            int keep = g.column == at_group.column ? g.y : at_group.y + W;
#pragma unroll
                            for (int i = 0; i < HELD; i++) {
                                int plane =
                                    plane_of<W>(i < FULL ? warp + 4 * i : 3 * FULL + i, at_group.y);
                                if (plane < keep)
                                    retire<REAL>(a, grid, at_group, plane, lane, sum[i]);
                            }
                        }
                        at_group = g;
                    }
                    int at = 8 * k + 2 * col;
                    double2 x0 = *(const double2 *)&b.x[row][at];
                    double2 x1 = *(const double2 *)&b.x[row + 8][at];
                    double2 z[TILES];
#pragma unroll
                    for (int n = 0; n < TILES; n++)
                        z[n] = *(const double2 *)&b.z[8 * n + row][at];
#pragma unroll
                    for (int i = 0; i < HELD; i++) {
                        if (i >= FULL && ((k + i) & 3) != warp) continue;
                        double2 ky =
                            *(const double2 *)&b.y[i < FULL ? warp + 4 * i : 3 * FULL + i][at];
                        const double m[4] = {x0.x * ky.x, x1.x * ky.x, x0.y * ky.y, x1.y * ky.y};
#pragma unroll
                        for (int n = 0; n < TILES; n++)
                            multiply(sum[i][n], m, z[n].x, z[n].y);
                    }
                }
            }
            if (s + 1 < n_stages) {
                const gpu_slot &slot = slots[(s + 1) & 3][lane];
                double c[2] = {0, 0};
                bool valid = base + lane < end;
                c[0] = strengths[(s + 1) & 1][NC * lane];
                if (!REAL) c[1] = strengths[(s + 1) & 1][(NC * lane + 1) % (STAGE * NC)];
                if (!isfinite(c[0]) || !isfinite(c[1])) mark_bad<REAL>(a, vector, c);
                evaluate<W, EXACT>(a, slot, c, valid, warp, lane, buffers[(s + 1) & 1],
                                   groups[(s + 1) & 1]);
            }
            copies_done();
            __syncthreads();
        }
        if (at_group.column >= 0)
#pragma unroll
            for (int i = 0; i < HELD; i++)
                retire<REAL>(a, grid, at_group,
                             plane_of<W>(i < FULL ? warp + 4 * i : 3 * FULL + i, at_group.y), lane,
                             sum[i]);
    }
}

/* Loads a lane's part of plane number `plane` as operands of two tiles of 16 rows, hold[kk][tile]
   for columns x = 8 kk + 2 (lane % 4) and the next.  Complex: the rows of tile T are cells z = 8 T ..
   8 T + 7, real parts then imaginary ones, so that an operand is what two 16-byte loads bring.
   Real: one tile, the rows are z = 0 .. 15. */
template <bool REAL>
static __device__ __forceinline__ void load_plane(const gpu_task &a, const double *grid,
                                                  const group &at, int plane, int lane,
                                                  double (*hold)[REAL ? 1 : 2][4])
{
    uint32_t nx = a.g.nx, nz = a.g.nz, step = (uint32_t)a.g.ny * nx;
    uint32_t x0 = at.x0 + 2 * (lane & 3), z0 = at.z0 + (lane >> 2);
    uint32_t row = wrapped(plane, a.g.ny) * nx;
    uint32_t low = row + wrapped(z0, nz) * step, high = row + wrapped(z0 + 8, nz) * step;
#pragma unroll
    for (int kk = 0; kk < 2; kk++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            uint32_t x = wrapped(x0 + 8 * kk + i, nx);
            if (REAL) {
                hold[kk][0][2 * i] = grid[low + x];
                hold[kk][0][2 * i + 1] = grid[high + x];
            } else {
                double2 u = ((const double2 *)grid)[low + x];
                double2 v = ((const double2 *)grid)[high + x];
                hold[kk][0][2 * i] = u.x, hold[kk][0][2 * i + 1] = u.y;
                hold[kk][REAL ? 0 : 1][2 * i] = v.x, hold[kk][REAL ? 0 : 1][2 * i + 1] = v.y;
            }
        }
}

/* Sums value[0..2*NC-1] (slots 2c and 2c+1 of a group, parts in turn) over the lanes of equal
   c = lane % 4; the sum of part p of slot 2c + q ends in lanes with bit 4 = q and bit 3 = p. */
template <int NC>
static __device__ __forceinline__ double sum_rows(const double value[2 * NC], int lane)
{
    double mine[NC];
#pragma unroll
    for (int p = 0; p < NC; p++) {
        double keep = lane & 16 ? value[NC + p] : value[p];
        double give = lane & 16 ? value[p] : value[NC + p];
        mine[p] = keep + __shfl_xor_sync(ALL_LANES, give, 16);
    }
    double one = mine[0];
    if (NC == 2) {
        double keep = lane & 8 ? mine[NC - 1] : mine[0];
        double give = lane & 8 ? mine[0] : mine[NC - 1];
        one = keep + __shfl_xor_sync(ALL_LANES, give, 8);
    } else {
        one += __shfl_xor_sync(ALL_LANES, one, 8);
    }
    return one + __shfl_xor_sync(ALL_LANES, one, 4);
}

/* One or two groups of the same place, from group k of the stage on: two keep more products in
   flight. Leaves this warp's part of the values in parts. */
template <int W, bool REAL, int TOGETHER, int STEP>
static __device__ __forceinline__ void interpolate_groups(const stage<W, STEP, 1> &b,
                                                          const double (*hold)[2][REAL ? 1 : 2][4],
                                                          int k, int warp, int lane, double *parts)
{
    enum { NC = REAL ? 1 : 2, FULL = W / 4, HELD = W / 4 + W % 4 };
    enum { CHAINS = REAL || TOGETHER == 1 ? 2 : 1 };
    int row = lane >> 2, col = lane & 3;
    double line[TOGETHER][NC][CHAINS][4], kx[TOGETHER][2][2];
#pragma unroll
    for (int g = 0; g < TOGETHER; g++) {
#pragma unroll
        for (int n = 0; n < NC * CHAINS * 4; n++)
            line[g][n / (4 * CHAINS)][n / 4 % CHAINS][n % 4] = 0;
#pragma unroll
        for (int kk = 0; kk < 2; kk++) {
            kx[g][kk][0] = b.x[8 * kk + 2 * col][8 * (k + g) + row];
            kx[g][kk][1] = b.x[8 * kk + 2 * col + 1][8 * (k + g) + row];
        }
    }
#pragma unroll
    for (int i = 0; i < HELD; i++)
#pragma unroll
        for (int g = 0; g < TOGETHER; g++) {
            if (i >= FULL && ((k + g + i) & 3) != warp) continue;
            double ky = b.y[i < FULL ? warp + 4 * i : 3 * FULL + i][8 * (k + g) + row];
#pragma unroll
            for (int kk = 0; kk < 2; kk++)
#pragma unroll
                for (int p = 0; p < NC; p++)
                    multiply(line[g][p][kk % CHAINS], hold[i][kk][p], kx[g][kk][0] * ky,
                             kx[g][kk][1] * ky);
        }
#pragma unroll
    for (int g = 0; g < TOGETHER; g++) {
        int at = 8 * (k + g) + 2 * col;
        double2 low = *(const double2 *)&b.z[row][at];
        double2 high = *(const double2 *)&b.z[row + 8][at];
        if (CHAINS == 2) {
#pragma unroll
            for (int i = 0; i < 4 * NC; i++)
                line[g][i / 4][0][i % 4] += line[g][i / 4][CHAINS - 1][i % 4];
        }
        const double *l = line[g][0][0], *h = line[g][NC - 1][0];
        double value[2 * NC];
        if (REAL) {
            value[0] = l[0] * low.x + l[2] * high.x;
            value[1] = l[1] * low.y + l[3] * high.y;
        } else {
            value[0] = l[0] * low.x + h[0] * high.x;
            value[1] = l[2] * low.x + h[2] * high.x;
            value[NC] = l[1] * low.y + h[1] * high.y;
            value[2 * NC - 1] = l[3] * low.y + h[3] * high.y;
        }
        double total = sum_rows<NC>(value, lane);
        int q = lane >> 4 & 1, part = NC == 2 ? lane >> 3 & 1 : 0;
        if (!(lane & 4) && (NC == 2 || !(lane & 8))) parts[(at + q) * NC + part] = total;
    }
}

template <int W, bool REAL, bool EXACT>
static __global__ void __launch_bounds__(GPU_THREADS, REAL ? 3 : 2)
    interpolate_tensor(const __grid_constant__ gpu_task a)
{
    enum { NC = REAL ? 1 : 2, STEP = 34, FULL = W / 4, REST = W % 4, HELD = FULL + REST };
    typedef stage<W, STEP, 1> buffer;
    __shared__ __align__(16) buffer buffers[2];
    __shared__ __align__(16) gpu_slot slots[RING][STAGE];
    __shared__ double parts[2][GPU_WARPS][STAGE * NC];
    __shared__ group groups[2][GROUPS];
    __shared__ uint32_t shared_task;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    task_list tasks = make_tasks(a, gridDim.x, 8192);
    double hold[HELD][2][NC][4];
    for (;;) {
        uint32_t first, end;
        int vector;
        group at_group = {-1, 0, 0, 0};
        if (threadIdx.x == 0) shared_task = atomicAdd(a.counter, 1);
        __syncthreads();
        bool more = find_task(a, tasks, shared_task, &vector, &first, &end);
        if (!more) break;
        const double *grid = a.grid + vector * a.grid_step;
        int n_stages = (int)((end - first + STAGE - 1) / STAGE);
        fetch_slots(a, first, end, slots[0]);
        if (n_stages > 1) fetch_slots(a, first + STAGE, end, slots[1]);
        copies_done();
        __syncthreads();
        /* s = -1 only evaluates the first stage, s = n_stages only stores the last one. */
#pragma unroll 1
        for (int s = -1; s <= n_stages; s++) {
            uint32_t base = first + (s + 1) * STAGE;
            if (s + 3 < n_stages) fetch_slots(a, base + 2 * STAGE, end, slots[(s + 3) % RING]);
            if (s >= 1 && threadIdx.x < STAGE * NC) {
                int i = threadIdx.x / NC, part = threadIdx.x % NC;
                int32_t index = slots[(s - 1) % RING][i].index;
                double total = 0;
#pragma unroll
                for (int k = 0; k < GPU_WARPS; k++)
                    total += parts[(s - 1) & 1][k][threadIdx.x];
                int64_t at = NC * (vector * a.n_points + index) + part;
                bool wanted = base - 2 * STAGE + i < end && index >= 0;
                if (!REAL && a.n_paired) {
                    at = (2 * vector + part) * a.n_points + index;
                    wanted = wanted && 2 * vector + part < a.n_paired;
                }
                if (wanted) a.values[at] = total;
            }
            if (s >= 0 && s < n_stages) {
                const buffer &b = buffers[s & 1];
#pragma unroll 1
                for (int k = 0; k < GROUPS; k++) {
                    group g = groups[s & 1][k];
                    if (g.column < 0) break;
                    if (g.column != at_group.column || g.y != at_group.y) {
                        int have = g.column == at_group.column ? at_group.y + W : 0;
#pragma unroll
                        for (int i = 0; i < HELD; i++) {
                            int plane = plane_of<W>(i < FULL ? warp + 4 * i : 3 * FULL + i, g.y);
                            if (plane >= have) load_plane<REAL>(a, grid, g, plane, lane, hold[i]);
                        }
                        at_group = g;
                    }
                    double *to = parts[s & 1][warp];
                    if (k + 1 < GROUPS && groups[s & 1][k + 1].column == g.column &&
                        groups[s & 1][k + 1].y == g.y) {
                        interpolate_groups<W, REAL, 2>(b, hold, k, warp, lane, to);
                        k++;
                    } else {
                        interpolate_groups<W, REAL, 1>(b, hold, k, warp, lane, to);
                    }
                }
            }
            if (s + 1 < n_stages) {
                const gpu_slot &slot = slots[(s + 1) % RING][lane];
                const double one[2] = {1, 0};
                evaluate<W, EXACT>(a, slot, one, base + lane < end, warp, lane,
                                   buffers[(s + 1) & 1], groups[(s + 1) & 1]);
            }
            copies_done();
            __syncthreads();
        }
    }
}

template <int W, bool EXACT> static const void *pick(bool real_path, bool spread)
{
    if (real_path)
        return spread ? (const void *)spread_tensor<W, true, EXACT>
                      : (const void *)interpolate_tensor<W, true, EXACT>;
    return spread ? (const void *)spread_tensor<W, false, EXACT>
                  : (const void *)interpolate_tensor<W, false, EXACT>;
}

extern "C" const void *gpu_tensor_kernel(int width, bool real_path, bool spread)
{
    if (width < 4) return NULL;
    if (width == 13) return pick<13, true>(real_path, spread);
    if (width <= 8) return pick<8, false>(real_path, spread);
    if (width <= 12) return pick<12, false>(real_path, spread);
    if (width <= 16) return pick<16, false>(real_path, spread);
    return NULL;
}
