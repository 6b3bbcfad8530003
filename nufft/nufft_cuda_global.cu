/* nufft_cuda_global.cu: a thread per slot, with atomics: the methods GM and GM-sort (in global memory,
   any dimension and width) and SM (in shared memory) of Shih et al., arXiv 2102.08463, section III. */
#include "nufft/nufft_cuda_kernel.h"

/* Kernel values of one dimension, by Horner's rule. */
static __device__ void weights(const gpu_task &a, real t, real weight[WINDOW_MAX_WIDTH])
{
#pragma unroll 1
    for (int i = 0; i < a.g.width; i++) {
        real sum = 0;
        for (int m = a.n_terms - 1; m >= 0; m--)
            sum = sum * t + a.coefficient[m][i];
        weight[i] = sum;
    }
}

/* First cell of a slot in each dimension. */
static __device__ void first_cells(const gpu_grid &g, uint32_t cell, int first[3])
{
    spot s = spot_of(g, cell);
    int zb = s.column / g.bins_x, xb = s.column - zb * g.bins_x;
    first[0] = xb * g.bin_x + s.x;
    first[1] = s.y;
    first[2] = zb * g.bin_z + s.z;
}

static __device__ __forceinline__ int wrap(int i, int n)
{
    return i < n ? i : i - n; /* grids are at least as wide as the kernel */
}

template <int DIM, bool REAL, bool SPREAD>
static __global__ void __launch_bounds__(128) global_kernel(const __grid_constant__ gpu_task a)
{
    uint32_t n = *a.n_slots;
    int w = a.g.width, ny = DIM > 1 ? w : 1, nz = DIM > 2 ? w : 1;
    for (uint32_t at = blockIdx.x * blockDim.x + threadIdx.x; at < n;
         at += blockDim.x * gridDim.x) {
        point slot = point_of(load_slot(a.slots + at));
        int32_t index = slot.index;
        if (index < 0) continue;
        real weight[3][WINDOW_MAX_WIDTH];
        int first[3];
        first_cells(a.g, slot.cell, first);
        weight[1][0] = weight[2][0] = 1;
        for (int d = 0; d < DIM; d++)
            weights(a, slot.t[d], weight[d]);
        for (int v = 0; v < a.batch; v++) {
            real *grid = a.grid + v * a.grid_step, value[2] = {0, 0};
            if (SPREAD) {
                real_pair c = load_strength<REAL>(a, v, index);
                check_strength(a, v, &c);
                value[0] = c.x, value[1] = c.y;
            }
            for (int z = 0; z < nz; z++)
                for (int y = 0; y < ny; y++) {
                    uint32_t row = ((uint32_t)wrap(first[2] + z, a.g.nz) * a.g.ny +
                                    wrap(first[1] + y, a.g.ny)) *
                                   a.g.nx;
                    real f = weight[2][z] * weight[1][y];
                    for (int x = 0; x < w; x++) {
                        uint32_t cell = row + wrap(first[0] + x, a.g.nx);
                        real fx = f * weight[0][x];
                        if (SPREAD) {
                            real part[2] = {fx * value[0], fx * value[1]};
                            if (a.exact)
                                add_cell<REAL, true>(a, v, grid, cell, part[0], part[1]);
                            else
                                add_cell<REAL, false>(a, v, grid, cell, part[0], part[1]);
                        } else if (REAL) {
                            value[0] += fx * grid[cell];
                        } else {
                            real_pair c = ((const real_pair *)grid)[cell];
                            value[0] += fx * c.x;
                            value[1] += fx * c.y;
                        }
                    }
                }
            if (!SPREAD) store_value<REAL>(a, v, index, value);
        }
    }
}

template <bool REAL, bool SPREAD> static const void *choose(int dim)
{
    if (dim == 1) return (const void *)global_kernel<1, REAL, SPREAD>;
    if (dim == 2) return (const void *)global_kernel<2, REAL, SPREAD>;
    return (const void *)global_kernel<3, REAL, SPREAD>;
}

/* Sides of the box of cells that a subproblem touches. */
static __host__ __device__ void box_of(const gpu_grid &g, int side[3])
{
    side[0] = g.bin_x + g.width - 1;
    side[1] = g.block_y + g.width - 1;
    side[2] = g.dim == 3 ? g.bin_z + g.width - 1 : 1;
}

/* Adds a point to the box, whose first cell it touches is number `first`. */
template <int DIM, int NC>
static __device__ void add_to_box(const gpu_task &a, const point &slot, const real_pair &c,
                                  int first, const int side[3], real *box)
{
    real weight[3][WINDOW_MAX_WIDTH];
    weight[2][0] = 1;
    for (int d = 0; d < DIM; d++)
        weights(a, slot.t[d], weight[d]);
    for (int z = 0; z < (DIM == 3 ? a.g.width : 1); z++)
        for (int y = 0; y < a.g.width; y++) {
            real f = weight[2][z] * weight[1][y];
            real *row = box + NC * (first + (z * side[1] + y) * side[0]);
            for (int x = 0; x < a.g.width; x++) {
                atomicAdd(row + NC * x, f * weight[0][x] * c.x);
                if (NC == 2) atomicAdd(row + NC * x + 1, f * weight[0][x] * c.y);
            }
        }
}

/* Blocks take subproblems until none is left: the points of a block of bins, GPU_SM_POINTS at most,
   are spread to a box in shared memory, which is then added to the grid. */
template <int DIM, bool REAL>
static __global__ void __launch_bounds__(GPU_SM_THREADS)
    sm_kernel(const __grid_constant__ gpu_task a)
{
    enum { NC = REAL ? 1 : 2 };
    extern __shared__ __align__(16) char memory[];
    __shared__ uint32_t task;
    real *box = (real *)memory;
    int side[3];
    box_of(a.g, side);
    int cells = side[0] * side[1] * side[2];
    uint32_t n = *a.n_subproblems;
    for (;;) {
        if (threadIdx.x == 0) task = atomicAdd(a.counter, 1);
        for (int i = threadIdx.x; i < NC * cells; i += GPU_SM_THREADS)
            box[i] = 0;
        __syncthreads();
        if (n == 0 || task >= (uint64_t)n * a.batch) break;
        int vector = (int)(task / n), corner[3];
        uint32_t first = a.firsts[task - vector * n];
        point slot = point_of(load_slot(a.slots + first));
        first_cells(a.g, slot.cell, corner);
        spot s = spot_of(a.g, slot.cell);
        corner[0] -= s.x, corner[1] -= s.y % a.g.block_y, corner[2] -= s.z;
        int last = min(corner[1] + a.g.block_y, a.g.ny) - 1;
        uint32_t end = min(a.ends[(int64_t)s.column * a.g.ny + last], first + GPU_SM_POINTS);
        for (uint32_t at = first + threadIdx.x; at < end; at += GPU_SM_THREADS) {
            slot = point_of(load_slot(a.slots + at));
            s = spot_of(a.g, slot.cell);
            real_pair c = load_strength<REAL>(a, vector, slot.index);
            check_strength(a, vector, &c);
            int cell = (s.z * side[1] + s.y - corner[1]) * side[0] + s.x;
            add_to_box<DIM, NC>(a, slot, c, cell, side, box);
        }
        __syncthreads();
        real *grid = a.grid + vector * a.grid_step;
        for (int i = threadIdx.x; i < cells; i += GPU_SM_THREADS) {
            int y = i / side[0], x = i - y * side[0], z = y / side[1];
            y -= z * side[1];
            uint32_t row = (uint32_t)((corner[2] + z) % a.g.nz) * a.g.ny + (corner[1] + y) % a.g.ny;
            uint32_t cell = row * a.g.nx + (corner[0] + x) % a.g.nx;
            add_cell<REAL, false>(a, vector, grid, cell, box[NC * i], box[NC * i + NC - 1]);
        }
        __syncthreads();
    }
}

extern "C" const void *PRECISE(gpu_sm_kernel)(const gpu_grid *g, bool real_path, size_t *shared)
{
    int side[3];
    box_of(*g, side);
    *shared = sizeof(real) * (real_path ? 1 : 2) * side[0] * side[1] * side[2];
    if (g->dim == 2)
        return real_path ? (const void *)sm_kernel<2, true> : (const void *)sm_kernel<2, false>;
    if (g->dim < 3) return NULL;
    return real_path ? (const void *)sm_kernel<3, true> : (const void *)sm_kernel<3, false>;
}

extern "C" const void *PRECISE(gpu_global_kernel)(int dim, bool real_path, bool spread)
{
    if (real_path) return spread ? choose<true, true>(dim) : choose<true, false>(dim);
    return spread ? choose<false, true>(dim) : choose<false, false>(dim);
}
