/* nufft_cuda_global.cu: a thread per slot, atomics in global memory: any dimension and width. */
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
                            add_cell<REAL>(grid, cell, fx * value[0], fx * value[1]);
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

extern "C" const void *PRECISE(gpu_global_kernel)(int dim, bool real_path, bool spread)
{
    if (real_path) return spread ? choose<true, true>(dim) : choose<true, false>(dim);
    return spread ? choose<false, true>(dim) : choose<false, false>(dim);
}
