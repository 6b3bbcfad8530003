/* nufft_cuda_tensor_interpolate.cu: 3D interpolation on FP64 tensor cores; see
   nufft_cuda_tensor.h. */
#include "nufft/nufft_cuda_tensor.h"

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
    task_list tasks = make_tasks(a, gridDim.x, 256, 8192);
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

template <int W, bool EXACT> static const void *pick(bool real_path)
{
    return real_path ? (const void *)interpolate_tensor<W, true, EXACT>
                     : (const void *)interpolate_tensor<W, false, EXACT>;
}

extern "C" const void *gpu_tensor_interpolate_kernel(int width, bool real_path)
{
    if (width < 4 || width > 16) return NULL;
    if (width == 13) return pick<13, true>(real_path);
    if (width <= 8) return pick<8, false>(real_path);
    return width <= 12 ? pick<12, false>(real_path) : pick<16, false>(real_path);
}
