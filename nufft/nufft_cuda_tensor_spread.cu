/* nufft_cuda_tensor_spread.cu: 3D spreading on FP64 tensor cores; see nufft_cuda_tensor.h. */
#include "nufft/nufft_cuda_tensor.h"

#ifndef REAL_BLOCKS
#define REAL_BLOCKS 4 /* a processor holds: measured */
#endif

/* Adds a lane's part of plane number `plane` of the window to the grid and clears it. */
template <bool REAL, bool FIXED>
static __device__ __forceinline__ void retire(const gpu_task &a, int64_t vector, double *grid,
                                              const group &at, int plane, int lane,
                                              double (*sum)[4])
{
    enum { TILES = REAL ? 2 : 4 };
    uint32_t nx = a.g.nx, nz = a.g.nz, step = (uint32_t)a.g.ny * nx;
    uint32_t x = at.x0 + (lane >> 2), left = wrapped(x, nx), right = wrapped(x + 8, nx);
    uint32_t row = wrapped(plane, a.g.ny) * nx;
#pragma unroll
    for (int n = 0; n < TILES; n++) {
        if (REAL) {
            uint32_t z = at.z0 + 8 * n + 2 * (lane & 3);
            uint32_t low = row + wrapped(z, nz) * step, high = row + wrapped(z + 1, nz) * step;
            add_cell<true, FIXED>(a, vector, grid, low + left, sum[n][0], 0);
            add_cell<true, FIXED>(a, vector, grid, high + left, sum[n][1], 0);
            add_cell<true, FIXED>(a, vector, grid, low + right, sum[n][2], 0);
            add_cell<true, FIXED>(a, vector, grid, high + right, sum[n][3], 0);
        } else {
            uint32_t first = row + wrapped(at.z0 + 4 * n + (lane & 3), nz) * step;
            add_cell<false, FIXED>(a, vector, grid, first + left, sum[n][0], sum[n][1]);
            add_cell<false, FIXED>(a, vector, grid, first + right, sum[n][2], sum[n][3]);
        }
        sum[n][0] = sum[n][1] = sum[n][2] = sum[n][3] = 0;
    }
}

/* A strength that is not finite: of a pair, only the part that is bad may suffer. */
template <bool REAL> static __device__ void mark_bad(const gpu_task &a, int64_t vector, double c[2])
{
    if (!REAL && a.n_paired) {
        for (int part = 0; part < 2; part++)
            if (!isfinite(c[part])) {
                a.bad[2 * vector + part] = 1;
                c[part] = 0;
            }
    } else {
        a.bad[vector] = 1;
    }
}

template <int W, bool REAL, bool EXACT, bool FIXED>
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
    task_list tasks = make_tasks(a, gridDim.x, 256, 8192);
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
                                    retire<REAL, FIXED>(a, vector, grid, at_group, plane, lane,
                                                        sum[i]);
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
                retire<REAL, FIXED>(a, vector, grid, at_group,
                                    plane_of<W>(i < FULL ? warp + 4 * i : 3 * FULL + i, at_group.y),
                                    lane, sum[i]);
    }
}

template <int W, bool EXACT, bool FIXED> static const void *pick(bool real_path)
{
    return real_path ? (const void *)spread_tensor<W, true, EXACT, FIXED>
                     : (const void *)spread_tensor<W, false, EXACT, FIXED>;
}

template <bool FIXED> static const void *choose(int width, bool real_path)
{
    if (width < 4 || width > 16) return NULL;
    if (width == 13) return pick<13, true, FIXED>(real_path);
    if (width <= 8) return pick<8, false, FIXED>(real_path);
    return width <= 12 ? pick<12, false, FIXED>(real_path) : pick<16, false, FIXED>(real_path);
}

extern "C" const void *gpu_tensor_spread_kernel(int width, bool real_path, bool deterministic)
{
    return deterministic ? choose<true>(width, real_path) : choose<false>(width, real_path);
}
