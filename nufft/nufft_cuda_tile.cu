/* nufft_cuda_tile.cu: a warp holds in its registers the part of the fine grid that the points of
   its bins touch: 8 x 8 cells in x and z (2D: 16 in x, so that the warp takes two slots at once, or
   32) and `W` planes in y, one after another.

   The y planes form a torus: plane r of the registers holds the grid's plane whose number is r
   modulo W.  Going from a bin to the next in y retires one plane and keeps the others where they
   are, so that every index into the registers is static; the kernel values of y are rotated
   instead.  The slots of a warp's task may be cut anywhere; the window stays from a task to the next, so
   that sums of a crowded cell go to the grid once a warp.  (Not in deterministic plans.)

   For 32 slots at a time each lane computes the kernel values of one slot and puts them into the
   warp's shared memory as rows; then the warp takes the slots one by one. */
#include "nufft/nufft_cuda_kernel.h"

enum { TASK_LEAST = 32, TASK_MOST = 512 }; /* slots of a task: measured */

template <int W> struct terms {
    enum { value = W <= 6 ? W + 2 : W <= 12 ? W + 1 : W };
};

/* The layout of a slot's row, in reals: [x: NC parts each][z][y], its length an odd multiple of 16
   bytes, so that rows stored by 128-bit words do not conflict. 2D: x as computed, not shifted. */
template <int W, int DIM, int NC> struct row {
    enum {
        UNIT = 16 / sizeof(real),
        PX = DIM == 3 ? 8 : (W + UNIT - 1) / UNIT * UNIT,
        PZ = DIM == 3 ? 8 : 0,
        PY = (W + UNIT - 1) / UNIT * UNIT,
        X = 0,
        Z = PX * NC,
        Y = Z + PZ,
        UNITS = (Y + PY) / UNIT,
        SIZE = (UNITS % 2 ? UNITS : UNITS + 1) * UNIT
    };
};

/* The W kernel values at t. EXACT: the kernel's width is W, so that panels mirror one another. */
template <int W, bool EXACT>
static __device__ __forceinline__ void kernel_values(const gpu_task &a, real t, real *value)
{
    enum { N = terms<W>::value };
    if (!EXACT) {
#pragma unroll
        for (int i = 0; i < W; i++) {
            real sum = a.coefficient[N - 1][i];
#pragma unroll
            for (int m = N - 2; m >= 0; m--)
                sum = sum * t + a.coefficient[m][i];
            value[i] = sum;
        }
        return;
    }
    real u = t * t;
#pragma unroll
    for (int i = 0; i < (W + 1) / 2; i++) {
        enum { EVEN = (N - 1) / 2 * 2, ODD = (N - 2) / 2 * 2 + 1 };
        real even = a.coefficient[EVEN][i], odd = a.coefficient[ODD][i];
#pragma unroll
        for (int m = EVEN - 2; m >= 0; m -= 2)
            even = even * u + a.coefficient[m][i];
#pragma unroll
        for (int m = ODD - 2; m >= 1; m -= 2)
            odd = odd * u + a.coefficient[m][i];
        value[i] = even + odd * t;
        value[W - 1 - i] = 2 * i + 1 == W ? even : even - odd * t;
    }
}

/* value[i] moves to value[i + by]; zeros come in. by < 8. */
template <int N> static __device__ __forceinline__ void shift_up(real *value, int by)
{
#pragma unroll
    for (int bit = 1; bit < 8; bit *= 2) {
        if (N - 2 < bit) break;
#pragma unroll
        for (int i = N - 1; i >= 0; i--)
            value[i] = by & bit ? (i >= bit ? value[i - bit] : 0) : value[i];
    }
}

/* value[i] moves to value[(i + by) % N]. by < N. */
template <int N> static __device__ __forceinline__ void rotate_up(real *value, int by)
{
#pragma unroll
    for (int bit = 1; bit < N; bit *= 2) {
        real moved[N];
#pragma unroll
        for (int i = 0; i < N; i++)
            moved[i] = by & bit ? value[(i + N - bit) % N] : value[i];
#pragma unroll
        for (int i = 0; i < N; i++)
            value[i] = moved[i];
    }
}

/* Stores N reals at a 16-byte boundary by 128-bit words; value holds N rounded up. */
template <int N> static __device__ __forceinline__ void store_row(real *to, const real *value)
{
    enum { UNIT = 16 / sizeof(real) };
#pragma unroll
    for (int i = 0; i < N; i += UNIT) {
#ifdef MTIP_SINGLE
        *(float4 *)(to + i) = make_float4(value[i], value[i + 1], value[i + 2], value[i + 3]);
#else
        *(double2 *)(to + i) = make_double2(value[i], value[i + 1]);
#endif
    }
}

/* Computes and stores a slot's row; the strength goes into the x values. */
template <int W, int DIM, int NC, bool EXACT, bool SPREAD>
static __device__ __forceinline__ void make_row(const gpu_task &a, const point &slot, const spot &s,
                                                const real_pair &strength, real *to)
{
    typedef row<W, DIM, NC> R;
    enum { N = R::PX > R::PY ? R::PX : R::PY, M = N < 8 ? 8 : N };
    real value[M];
#pragma unroll
    for (int i = 0; i < M; i++)
        value[i] = 0;
    kernel_values<W, EXACT>(a, slot.t[1], value);
    rotate_up<W>(value, s.y % W);
    store_row<R::PY>(to + R::Y, value);
    if (DIM == 3) {
#pragma unroll
        for (int i = 0; i < M; i++)
            value[i] = 0;
        kernel_values<W, EXACT>(a, slot.t[2], value);
        shift_up<8>(value, s.z);
        store_row<8>(to + R::Z, value);
    }
#pragma unroll
    for (int i = 0; i < M; i++)
        value[i] = 0;
    kernel_values<W, EXACT>(a, slot.t[0], value);
    if (DIM == 3) shift_up<8>(value, s.x);
    real x[R::PX * NC];
#pragma unroll
    for (int i = 0; i < R::PX; i++) {
        if (NC == 2) {
            x[(2 * i) % (R::PX * NC)] = value[i] * strength.x;
            x[(2 * i + 1) % (R::PX * NC)] = value[i] * strength.y;
        } else {
            x[i % (R::PX * NC)] = SPREAD ? value[i] * strength.x : value[i];
        }
    }
    store_row<R::PX * NC>(to + R::X, x);
}

/* Lanes along x in 2D, and the slots a warp takes at once. */
template <int W, int DIM> struct lanes {
    enum { X = DIM == 2 && W <= 8 ? 16 : 32, TOGETHER = 32 / X };
};

/* The cells a lane holds: cell[k] + plane * nx. */
template <int W, int DIM>
static __device__ __forceinline__ void place_lane(const gpu_grid &g, int column, int lane,
                                                  uint32_t cell[2])
{
    if (DIM == 2) {
        cell[0] = (uint32_t)((column * g.bin_x + lane % lanes<W, DIM>::X) % g.nx);
        return;
    }
    int zb = column / g.bins_x, xb = column - zb * g.bins_x;
    uint32_t x = (uint32_t)((xb * g.bin_x + (lane & 7)) % g.nx);
#pragma unroll
    for (int k = 0; k < 2; k++) {
        uint32_t z = (uint32_t)((zb * g.bin_z + 2 * (lane >> 3) + k) % g.nz);
        cell[k] = z * (uint32_t)g.ny * (uint32_t)g.nx + x;
    }
}

/* The lane's x value(s) and z values of the slot whose row this is. */
template <int W, int DIM, int NC>
static __device__ __forceinline__ void read_row(const real *from, int at_x, bool inside, int lane,
                                                real x[NC], real_pair *kz, real *ky)
{
    typedef row<W, DIM, NC> R;
    if (NC == 2) {
        real_pair v = *(const real_pair *)(from + R::X + 2 * at_x);
        x[0] = inside ? v.x : 0, x[NC - 1] = inside ? v.y : 0;
    } else {
        x[0] = inside ? from[R::X + at_x] : 0;
    }
    if (DIM == 3) *kz = *(const real_pair *)(from + R::Z + 2 * (lane >> 3));
#pragma unroll
    for (int r = 0; r < R::PY; r++)
        ky[r] = from[R::Y + r];
}

/* Adds the first n planes of the window, from plane y on, to the grid and clears them. */
template <int W, bool REAL, bool FIXED, int NZ, int NC>
static __device__ __forceinline__ void retire(const gpu_task &a, int64_t vector, real *grid, int y,
                                              int n, const uint32_t cell[2], real sum[W][NZ][NC])
{
    const gpu_grid &g = a.g;
    int y_mod = y % W;
    for (int i = 0; i < n; i++) {
        int plane = y + i;
        if (plane >= g.ny) plane -= g.ny;
#pragma unroll
        for (int r = 0; r < W; r++) {
            if (r != y_mod) continue;
#pragma unroll
            for (int k = 0; k < NZ; k++) {
                add_cell<REAL, FIXED>(a, vector, grid, cell[k] + (uint32_t)plane * g.nx,
                                      sum[r][k][0], sum[r][k][NC - 1]);
                sum[r][k][0] = sum[r][k][NC - 1] = 0;
            }
        }
        y_mod = y_mod + 1 == W ? 0 : y_mod + 1;
    }
}

/* A lane's cells of a plane (not wrapped). */
template <bool REAL, int NZ, int NC>
static __device__ __forceinline__ void load_plane(const gpu_grid &g, const real *grid, int plane,
                                                  const uint32_t cell[2], real to[NZ][NC])
{
    if (plane >= g.ny) plane -= g.ny;
#pragma unroll
    for (int k = 0; k < NZ; k++) {
        uint32_t from = cell[k] + (uint32_t)plane * g.nx;
        if (REAL) {
            to[k][0] = grid[from];
        } else {
            real_pair v = ((const real_pair *)grid)[from];
            to[k][0] = v.x, to[k][NC - 1] = v.y;
        }
    }
}

/* Moves the window to y, of which the last n planes are not there yet; `ahead` is plane `have`, and
   becomes the one after the window, so that the next step need not wait for memory. */
template <int W, bool REAL, int NZ, int NC>
static __device__ __forceinline__ void fetch(const gpu_grid &g, const real *grid, int y, int n,
                                             const uint32_t cell[2], int have, real ahead[NZ][NC],
                                             real hold[W][NZ][NC])
{
    int y_mod = (y + W - n) % W;
    for (int plane = y + W - n; plane < y + W; plane++) {
        if (plane != have) load_plane<REAL, NZ, NC>(g, grid, plane, cell, ahead);
#pragma unroll
        for (int r = 0; r < W; r++) {
            if (r != y_mod) continue;
#pragma unroll
            for (int k = 0; k < NZ * NC; k++)
                hold[r][k / NC][k % NC] = ahead[k / NC][k % NC];
        }
        y_mod = y_mod + 1 == W ? 0 : y_mod + 1;
    }
    load_plane<REAL, NZ, NC>(g, grid, y + W < 2 * g.ny ? y + W : y, cell, ahead);
}

template <int W, int DIM, bool REAL, bool EXACT, bool FIXED>
static __global__ void __launch_bounds__(32 * GPU_TILE_WARPS)
    spread_tile(const __grid_constant__ gpu_task a)
{
    typedef lanes<W, DIM> L;
    enum { NC = REAL ? 1 : 2, NZ = DIM == 3 ? 2 : 1, TOGETHER = L::TOGETHER };
    typedef row<W, DIM, NC> R;
    __shared__ __align__(16) real rows[GPU_TILE_WARPS][32 * R::SIZE];
    int lane = threadIdx.x & 31;
    real *mine = rows[threadIdx.x >> 5];
    task_list tasks = make_tasks(a, gridDim.x * GPU_TILE_WARPS, TASK_LEAST, TASK_MOST);
    real sum[W][NZ][NC] = {};
    uint32_t cell[2] = {0, 0};
    int vector = 0, column = -1, y = 0;
    for (;;) {
        uint32_t task = 0, first, end, bin = 0xffffffffu;
        int next_vector = 0;
        if (lane == 0) task = atomicAdd(a.counter, 1);
        task = __shfl_sync(ALL_LANES, task, 0);
        bool more = find_task(a, tasks, task, &next_vector, &first, &end);
        real *grid = a.grid + vector * a.grid_step;
        if (column >= 0 && (FIXED || !more || next_vector != vector)) {
            retire<W, REAL, FIXED, NZ, NC>(a, vector, grid, y, W, cell, sum);
            column = -1;
        }
        if (!more) break;
        vector = next_vector;
        grid = a.grid + vector * a.grid_step;
        /* Slots are read two stages, strengths one stage ahead. */
        gpu_slot next = load_slot(a.slots + min(first + lane, end - 1));
        gpu_slot after = load_slot(a.slots + min(first + 32 + lane, end - 1));
        real_pair strength =
            load_strength<REAL>(a, vector, first + lane < end ? point_of(next).index : GPU_EMPTY);
        for (uint32_t base = first; base < end; base += 32) {
            point slot = point_of(next);
            real_pair c = strength;
            next = after;
            strength = load_strength<REAL>(
                a, vector, base + 32 + lane < end ? point_of(next).index : GPU_EMPTY);
            after = load_slot(a.slots + min(base + 64 + lane, end - 1));
            check_strength(a, vector, &c);
            spot s = spot_of(a.g, slot.cell);
            uint32_t before = __shfl_up_sync(ALL_LANES, s.bin, 1);
            if (lane == 0) before = bin;
            uint32_t heads = __ballot_sync(ALL_LANES, before != s.bin);
            bin = __shfl_sync(ALL_LANES, s.bin, 31);
            __syncwarp();
            make_row<W, DIM, NC, EXACT, true>(a, slot, s, c, mine + lane * R::SIZE);
            __syncwarp();
            int n = min((int)(end - base), 32), i = 0;
            while (i < n) {
                if (heads >> i & 1) {
                    int new_column = __shfl_sync(ALL_LANES, s.column, i);
                    int new_y = __shfl_sync(ALL_LANES, s.y, i);
                    int steps = new_column == column ? min(new_y - y, W) : W;
                    if (column >= 0)
                        retire<W, REAL, FIXED, NZ, NC>(a, vector, grid, y, steps, cell, sum);
                    if (new_column != column) place_lane<W, DIM>(a.g, new_column, lane, cell);
                    column = new_column;
                    y = new_y;
                }
                uint32_t later = i < 31 ? heads & (0xfffffffeu << i) : 0;
                int stop = later ? __ffs(later) - 1 : n;
                const real *from = mine + i * R::SIZE;
#pragma unroll 2
                for (; i < stop; i += TOGETHER, from += TOGETHER * R::SIZE) {
                    real x[NC], ky[R::PY], f[NZ][NC];
                    real_pair kz = {1, 1};
                    if (DIM == 2) {
                        int mine_at = i + lane / L::X;
                        int at_x = lane % L::X - __shfl_sync(ALL_LANES, s.x, mine_at & 31);
                        bool inside = (unsigned)at_x < (unsigned)W && mine_at < stop;
                        read_row<W, DIM, NC>(TOGETHER == 1 ? from : mine + (mine_at & 31) * R::SIZE,
                                             inside ? at_x : 0, inside, lane, x, &kz, ky);
                    } else {
                        read_row<W, DIM, NC>(from, lane & 7, true, lane, x, &kz, ky);
                    }
#pragma unroll
                    for (int k = 0; k < NC; k++) {
                        f[0][k] = DIM == 3 ? x[k] * kz.x : x[k];
                        if (DIM == 3) f[NZ - 1][k] = x[k] * kz.y;
                    }
#pragma unroll
                    for (int r = 0; r < W; r++)
#pragma unroll
                        for (int k = 0; k < NZ * NC; k++)
                            sum[r][k / NC][k % NC] += f[k / NC][k % NC] * ky[r];
                }
                i = stop;
            }
        }
    }
}

template <int W, int DIM, bool REAL, bool EXACT>
static __global__ void __launch_bounds__(32 * GPU_TILE_WARPS)
    interpolate_tile(const __grid_constant__ gpu_task a)
{
    typedef lanes<W, DIM> L;
    enum { NC = REAL ? 1 : 2, NZ = DIM == 3 ? 2 : 1, HALF = 16, TOGETHER = L::TOGETHER };
    enum { LINE = (L::X + 1) * NC };
    typedef row<W, DIM, 1> R;
    __shared__ __align__(16) real rows[GPU_TILE_WARPS][32 * R::SIZE];
    __shared__ __align__(16) real parts[GPU_TILE_WARPS][HALF * LINE];
    int lane = threadIdx.x & 31;
    real *mine = rows[threadIdx.x >> 5], *part = parts[threadIdx.x >> 5];
    task_list tasks = make_tasks(a, gridDim.x * GPU_TILE_WARPS, TASK_LEAST, TASK_MOST);
    real hold[W][NZ][NC], ahead[NZ][NC];
    for (;;) {
        uint32_t task = 0, first, end, cell[2] = {0, 0}, bin = 0xffffffffu;
        int vector, column = -1, y = 0;
        if (lane == 0) task = atomicAdd(a.counter, 1);
        task = __shfl_sync(ALL_LANES, task, 0);
        if (!find_task(a, tasks, task, &vector, &first, &end)) break;
        const real *grid = a.grid + vector * a.grid_step;
        gpu_slot next = load_slot(a.slots + min(first + lane, end - 1));
        for (uint32_t base = first; base < end; base += 32) {
            point slot = point_of(next);
            next = load_slot(a.slots + min(base + 32 + lane, end - 1));
            int32_t index = base + lane < end ? slot.index : GPU_EMPTY;
            spot s = spot_of(a.g, slot.cell);
            uint32_t before = __shfl_up_sync(ALL_LANES, s.bin, 1);
            if (lane == 0) before = bin;
            uint32_t heads = __ballot_sync(ALL_LANES, before != s.bin);
            bin = __shfl_sync(ALL_LANES, s.bin, 31);
            __syncwarp();
            make_row<W, DIM, 1, EXACT, false>(a, slot, s, real_pair{0, 0}, mine + lane * R::SIZE);
            __syncwarp();
#pragma unroll 1
            for (int half = 0; half < 2; half++) {
                int i = half * HALF, n = i + HALF;
                while (i < n) {
                    if (heads >> i & 1) {
                        int new_column = __shfl_sync(ALL_LANES, s.column, i);
                        int new_y = __shfl_sync(ALL_LANES, s.y, i);
                        int steps = new_column == column ? min(new_y - y, W) : W;
                        if (new_column != column) place_lane<W, DIM>(a.g, new_column, lane, cell);
                        fetch<W, REAL, NZ, NC>(a.g, grid, new_y, steps, cell,
                                               new_column == column ? y + W : -1, ahead, hold);
                        column = new_column;
                        y = new_y;
                    }
                    uint32_t later = i < 31 ? heads & (0xfffffffeu << i) : 0;
                    int stop = min(later ? __ffs(later) - 1 : n, n);
                    const real *from = mine + i * R::SIZE;
                    real *to = part + (i % HALF) * LINE + lane % L::X * NC;
#pragma unroll 2
                    for (; i < stop;
                         i += TOGETHER, from += TOGETHER * R::SIZE, to += TOGETHER * LINE) {
                        real x[1], ky[R::PY], line[NZ][NC], value[NC];
                        real_pair kz = {1, 1};
                        int mine_at = i + lane / L::X;
                        bool inside = true;
                        if (DIM == 2) {
                            int at_x = lane % L::X - __shfl_sync(ALL_LANES, s.x, mine_at & 31);
                            inside = (unsigned)at_x < (unsigned)W;
                            read_row<W, DIM, 1>(TOGETHER == 1 ? from
                                                              : mine + (mine_at & 31) * R::SIZE,
                                                inside ? at_x : 0, inside, lane, x, &kz, ky);
                        } else {
                            read_row<W, DIM, 1>(from, lane & 7, true, lane, x, &kz, ky);
                        }
#pragma unroll
                        for (int k = 0; k < NZ * NC; k++) {
                            line[k / NC][k % NC] = hold[0][k / NC][k % NC] * ky[0];
#pragma unroll
                            for (int r = 1; r < W; r++)
                                line[k / NC][k % NC] += hold[r][k / NC][k % NC] * ky[r];
                        }
                        /* 2D: cells beyond the kernel must not count, not even as 0 times NaN. */
#pragma unroll
                        for (int k = 0; k < NC; k++)
                            value[k] = DIM == 3
                                           ? x[0] * (kz.x * line[0][k] + kz.y * line[NZ - 1][k])
                                       : inside ? x[0] * line[0][k]
                                                : 0;
                        if (TOGETHER > 1 && mine_at >= stop) continue;
                        real *at = to + lane / L::X * LINE;
                        if (NC == 2)
                            *(real_pair *)at = real_pair{value[0], value[NC - 1]};
                        else
                            at[0] = value[0];
                    }
                    i = stop;
                }
                __syncwarp();
                real total[2] = {0, 0};
                const real *from = part + (lane % HALF) * LINE + lane / HALF * (L::X / 2) * NC;
#pragma unroll
                for (int k = 0; k < L::X / 2; k++) {
                    if (NC == 2) {
                        real_pair v = *(const real_pair *)(from + 2 * k);
                        total[0] += v.x, total[1] += v.y;
                    } else {
                        total[0] += from[k];
                    }
                }
                __syncwarp();
                total[0] += __shfl_xor_sync(ALL_LANES, total[0], 16);
                if (NC == 2) total[1] += __shfl_xor_sync(ALL_LANES, total[1], 16);
                int32_t to = __shfl_sync(ALL_LANES, index, half * HALF + lane % HALF);
                if (lane < HALF) store_value<REAL>(a, vector, to, total);
            }
        }
    }
}

template <int W, int DIM, bool REAL, bool FIXED> static const void *pick(bool spread)
{
    enum { EXACT = W > 4 && W <= 8 };
    if (spread) return (const void *)spread_tile<W, DIM, REAL, EXACT, FIXED>;
    return (const void *)interpolate_tile<W, DIM, REAL, EXACT>;
}

template <bool REAL, bool FIXED> static const void *choose(int dim, int width, bool spread)
{
    if (dim == 3) {
        if (width <= 4) return pick<4, 3, REAL, FIXED>(spread);
        if (width == 5) return pick<5, 3, REAL, FIXED>(spread);
        if (width == 6) return pick<6, 3, REAL, FIXED>(spread);
        if (width == 7) return pick<7, 3, REAL, FIXED>(spread);
        if (width == 8) return pick<8, 3, REAL, FIXED>(spread);
        return NULL;
    }
    if (dim != 2) return NULL;
    if (width <= 4) return pick<4, 2, REAL, FIXED>(spread);
    if (width == 5) return pick<5, 2, REAL, FIXED>(spread);
    if (width == 6) return pick<6, 2, REAL, FIXED>(spread);
    if (width == 7) return pick<7, 2, REAL, FIXED>(spread);
    if (width == 8) return pick<8, 2, REAL, FIXED>(spread);
#ifndef MTIP_SINGLE
    if (width <= 12) return pick<12, 2, REAL, FIXED>(spread);
    if (width <= 16) return pick<16, 2, REAL, FIXED>(spread);
#endif
    return NULL;
}

extern "C" const void *PRECISE(gpu_tile_kernel)(int dim, int width, bool real_path, bool spread,
                                                bool deterministic)
{
    if (deterministic)
        return real_path ? choose<true, true>(dim, width, spread)
                         : choose<false, true>(dim, width, spread);
    return real_path ? choose<true, false>(dim, width, spread)
                     : choose<false, false>(dim, width, spread);
}
