/* nufft_cuda_tile.cu: a warp holds in its registers the part of the fine grid that the points of
   its bins touch: 8 x 8 cells in x and z (2D: 16 in x, or 32) and `W` planes in y.  For narrow
   kernels (`lanes`) either half of the warp holds all of them, so that it takes two slots at once: a
   slot's values then come from shared memory for 16 lanes, not 32.

   Going from a bin to the next in y retires the first plane; the others move down, so that every
   index into the registers is static.  The slots of a warp's task may be cut anywhere; the window
   stays from a task to the next, so that sums of a crowded cell go to the grid once a warp.  (Not in
   deterministic plans.)

   For 32 slots at a time each lane computes the kernel values of one slot and puts them into the
   warp's shared memory as rows (nufft_cuda_tile.h); then the warp takes the slots, one or two at a time. */
#include "nufft/nufft_cuda_tile.h"

enum { TASK_LEAST = 32, TASK_MOST = 512 }; /* slots of a task: measured */

/* The cells a lane holds: cell[k] + plane * nx. */
template <int W, int DIM>
static __device__ __forceinline__ void place_lane(const gpu_grid &g, int column, int lane,
                                                  uint32_t *cell)
{
    typedef lanes<W, DIM> L;
    if (DIM == 2) {
        cell[0] = (uint32_t)((column * g.bin_x + lane % L::N) % g.nx);
        return;
    }
    int zb = column / g.bins_x, xb = column - zb * g.bins_x;
    uint32_t x = (uint32_t)((xb * g.bin_x + (lane & 7)) % g.nx);
#pragma unroll
    for (int k = 0; k < L::Z; k++) {
        uint32_t z = (uint32_t)((zb * g.bin_z + lane % L::N / 8 * L::Z + k) % g.nz);
        cell[k] = z * (uint32_t)g.ny * (uint32_t)g.nx + x;
    }
}

/* Adds a lane's cells of a plane to the grid and clears them. In 3D the half warps hold sums of the
   same cells: each takes over half of them. */
template <bool REAL, bool FIXED, int NZ, int NC>
static __device__ __forceinline__ void add_plane(const gpu_task &a, int64_t vector, real *grid,
                                                 const uint32_t *cell, int plane, real sum[NZ][NC])
{
    uint32_t at = wrapped(plane, a.g.ny) * a.g.nx;
    enum { MINE = NZ == 4 ? 2 : NZ };
    bool upper = NZ == 4 && threadIdx.x & 16;
#pragma unroll
    for (int k = 0; k < MINE; k++) {
        real mine[NC];
#pragma unroll
        for (int c = 0; c < NC; c++) {
            mine[c] = upper ? sum[NZ - MINE + k][c] : sum[k][c];
            real give = upper ? sum[k][c] : sum[NZ - MINE + k][c];
            if (NZ == 4) mine[c] += __shfl_xor_sync(ALL_LANES, give, 16);
            sum[k][c] = sum[NZ - MINE + k][c] = 0;
        }
        add_cell<REAL, FIXED>(a, vector, grid, (upper ? cell[NZ - MINE + k] : cell[k]) + at,
                              mine[0], mine[NC - 1]);
    }
}

/* Adds the window, which begins with plane y, to the grid and clears it. */
template <int W, bool REAL, bool FIXED, int NZ, int NC>
static __device__ __forceinline__ void add_window(const gpu_task &a, int64_t vector, real *grid,
                                                  int y, const uint32_t *cell, real sum[W][NZ][NC])
{
#pragma unroll
    for (int r = 0; r < W; r++)
        add_plane<REAL, FIXED, NZ, NC>(a, vector, grid, cell, y + r, sum[r]);
}

/* Moves the window on by a plane: the first, plane y, is added to the grid. */
template <int W, bool REAL, bool FIXED, int NZ, int NC>
static __device__ __forceinline__ void retire(const gpu_task &a, int64_t vector, real *grid, int y,
                                              const uint32_t *cell, real sum[W][NZ][NC])
{
    add_plane<REAL, FIXED, NZ, NC>(a, vector, grid, cell, y, sum[0]);
#pragma unroll
    for (int n = 0; n < W * NZ * NC; n++) {
        int r = n / (NZ * NC), k = n / NC % NZ, c = n % NC;
        sum[r][k][c] = r + 1 < W ? sum[(r + 1) % W][k][c] : 0;
    }
}

/* A lane's cells of a plane (not wrapped, below 3 ny). */
template <bool REAL, int NZ, int NC>
static __device__ __forceinline__ void load_plane(const gpu_grid &g, const real *grid, int plane,
                                                  const uint32_t *cell, real to[NZ][NC])
{
    if (plane >= g.ny) plane -= g.ny;
    if (plane >= g.ny) plane = 0; /* the plane after a window as large as the grid */
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

/* Loads the window at y, and `ahead`, the plane after it. */
template <int W, bool REAL, int NZ, int NC>
static __device__ __forceinline__ void load_window(const gpu_grid &g, const real *grid, int y,
                                                   const uint32_t *cell, real ahead[NZ][NC],
                                                   real hold[W][NZ][NC])
{
#pragma unroll
    for (int r = 0; r < W; r++)
        load_plane<REAL, NZ, NC>(g, grid, y + r, cell, hold[r]);
    load_plane<REAL, NZ, NC>(g, grid, y + W, cell, ahead);
}

/* Moves the window from y to the next: `ahead` goes where plane y was, and what comes after it is
   loaded, so that the step after this need not wait for memory. */
template <int W, bool REAL, int NZ, int NC>
static __device__ __forceinline__ void step(const gpu_grid &g, const real *grid, int y,
                                            const uint32_t *cell, real ahead[NZ][NC],
                                            real hold[W][NZ][NC])
{
#pragma unroll
    for (int n = 0; n < W * NZ * NC; n++) {
        int r = n / (NZ * NC), k = n / NC % NZ, c = n % NC;
        hold[r][k][c] = r + 1 < W ? hold[(r + 1) % W][k][c] : ahead[k][c];
    }
    load_plane<REAL, NZ, NC>(g, grid, y + 1 + W, cell, ahead);
}

template <int W, int DIM, bool REAL, bool EXACT, bool FIXED>
static __global__ void __launch_bounds__(32 * GPU_TILE_WARPS, lanes<W, DIM>::BLOCKS)
    spread_tile(const __grid_constant__ gpu_task a)
{
    typedef lanes<W, DIM> L;
    enum { NC = REAL ? 1 : 2, NZ = L::Z, TOGETHER = L::TOGETHER };
    typedef row<W, DIM, NC> R;
    __shared__ __align__(16) real rows[GPU_TILE_WARPS][33 * R::SIZE];
    int lane = threadIdx.x & 31;
    real *mine = rows[threadIdx.x >> 5];
    task_list tasks = make_tasks(a, gridDim.x * GPU_TILE_WARPS, TASK_LEAST, TASK_MOST);
    clear_spare<R>(mine, lane);
    real sum[W][NZ][NC] = {};
    uint32_t cell[NZ] = {};
    int vector = 0, column = -1, y = 0;
    for (;;) {
        uint32_t task = 0, first, end, bin = 0xffffffffu;
        int next_vector = 0;
        if (lane == 0) task = atomicAdd(a.counter, 1);
        task = __shfl_sync(ALL_LANES, task, 0);
        bool more = find_task(a, tasks, task, &next_vector, &first, &end);
        real *grid = a.grid + vector * a.grid_step;
        if (column >= 0 && (FIXED || !more || next_vector != vector)) {
            add_window<W, REAL, FIXED, NZ, NC>(a, vector, grid, y, cell, sum);
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
                    if (column >= 0 && (new_column != column || new_y - y >= W)) {
                        add_window<W, REAL, FIXED, NZ, NC>(a, vector, grid, y, cell, sum);
                    } else if (column >= 0) {
#pragma unroll 1
                        for (; y < new_y; y++)
                            retire<W, REAL, FIXED, NZ, NC>(a, vector, grid, y, cell, sum);
                    }
                    if (new_column != column) place_lane<W, DIM>(a.g, new_column, lane, cell);
                    column = new_column;
                    y = new_y;
                }
                uint32_t later = i < 31 ? heads & (0xfffffffeu << i) : 0;
                int stop = later ? __ffs(later) - 1 : n;
                const real *from = mine + (i + lane / L::N) * R::SIZE;
#pragma unroll 2
                for (; i < stop; i += TOGETHER, from += TOGETHER * R::SIZE) {
                    real x[NC], kz[NZ], ky[R::PY], f[NZ][NC];
                    int mine_at = i + lane / L::N, at_x = lane & 7;
                    bool inside = mine_at < stop;
                    if (DIM == 2) {
                        at_x = lane % L::N - __shfl_sync(ALL_LANES, s.x, mine_at);
                        inside = inside && (unsigned)at_x < (unsigned)W;
                        at_x = inside ? at_x : 0;
                    }
                    read_row<W, DIM, NC>(from, at_x, inside, lane, x, kz, ky);
#pragma unroll
                    for (int k = 0; k < NZ * NC; k++)
                        f[k / NC][k % NC] = DIM == 3 ? x[k % NC] * kz[k / NC] : x[k % NC];
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
static __global__ void __launch_bounds__(32 * GPU_TILE_WARPS, lanes<W, DIM>::BLOCKS)
    interpolate_tile(const __grid_constant__ gpu_task a)
{
    typedef lanes<W, DIM> L;
    enum { NC = REAL ? 1 : 2, NZ = L::Z, HALF = 16, TOGETHER = L::TOGETHER };
    enum { LINE = (L::N + 1) * NC };
    typedef row<W, DIM, 1> R;
    __shared__ __align__(16) real rows[GPU_TILE_WARPS][33 * R::SIZE];
    __shared__ __align__(16) real parts[GPU_TILE_WARPS][HALF * LINE];
    int lane = threadIdx.x & 31;
    real *mine = rows[threadIdx.x >> 5], *part = parts[threadIdx.x >> 5];
    task_list tasks = make_tasks(a, gridDim.x * GPU_TILE_WARPS, TASK_LEAST, TASK_MOST);
    clear_spare<R>(mine, lane);
    real hold[W][NZ][NC], ahead[NZ][NC];
    for (;;) {
        uint32_t task = 0, first, end, cell[NZ] = {}, bin = 0xffffffffu;
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
                        if (new_column != column) place_lane<W, DIM>(a.g, new_column, lane, cell);
                        if (new_column != column || new_y - y >= W) {
                            load_window<W, REAL, NZ, NC>(a.g, grid, new_y, cell, ahead, hold);
                        } else {
#pragma unroll 1
                            for (; y < new_y; y++)
                                step<W, REAL, NZ, NC>(a.g, grid, y, cell, ahead, hold);
                        }
                        column = new_column;
                        y = new_y;
                    }
                    uint32_t later = i < 31 ? heads & (0xfffffffeu << i) : 0;
                    int stop = min(later ? __ffs(later) - 1 : n, n);
                    const real *from = mine + (i + lane / L::N) * R::SIZE;
                    real *to = part + (i % HALF + lane / L::N) * LINE + lane % L::N * NC;
#pragma unroll 2
                    for (; i < stop;
                         i += TOGETHER, from += TOGETHER * R::SIZE, to += TOGETHER * LINE) {
                        real x[1], kz[NZ], ky[R::PY], line[NZ][NC], value[NC];
                        int mine_at = i + lane / L::N, at_x = lane & 7;
                        bool inside = true;
                        if (DIM == 2) {
                            at_x = lane % L::N - __shfl_sync(ALL_LANES, s.x, mine_at);
                            inside = (unsigned)at_x < (unsigned)W;
                            at_x = inside ? at_x : 0;
                        }
                        read_row<W, DIM, 1>(from, at_x, inside, lane, x, kz, ky);
#pragma unroll
                        for (int k = 0; k < NZ * NC; k++) {
                            line[k / NC][k % NC] = hold[0][k / NC][k % NC] * ky[0];
#pragma unroll
                            for (int r = 1; r < W; r++)
                                line[k / NC][k % NC] += hold[r][k / NC][k % NC] * ky[r];
                        }
                        /* 2D: cells beyond the kernel must not count, not even as 0 times NaN. */
#pragma unroll
                        for (int c = 0; c < NC; c++) {
                            real sum = kz[0] * line[0][c];
#pragma unroll
                            for (int k = 1; k < NZ; k++)
                                sum += kz[k] * line[k][c];
                            value[c] = inside ? x[0] * sum : 0;
                        }
                        if (TOGETHER > 1 && mine_at >= stop) continue;
                        if (NC == 2)
                            *(real_pair *)to = real_pair{value[0], value[NC - 1]};
                        else
                            to[0] = value[0];
                    }
                    i = stop;
                }
                __syncwarp();
                real total[2] = {0, 0};
                const real *from = part + (lane % HALF) * LINE + lane / HALF * (L::N / 2) * NC;
#pragma unroll
                for (int k = 0; k < L::N / 2; k++) {
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
