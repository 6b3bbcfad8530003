/* nufft_cuda_modes.cu: modes to and from the fine grid, deconvolved on the way.  Each kernel writes
   all of its output once: no clearing pass. */
#include "nufft/nufft_cuda.h"

#include <math_constants.h>

#ifdef MTIP_SINGLE
typedef float2 complex_real;
#else
typedef double2 complex_real;
#endif

/* The index in the modes of fine index i, or -1: fine indices hold k = 0.. then k = ..-1. */
static __device__ int64_t mode_index(int64_t i, int64_t modes, int64_t fine)
{
    int64_t k = i < fine - i ? i : i - fine;
    int64_t at = k + modes / 2;
    return at >= 0 && at < modes ? at : -1;
}

/* The complex path: mode or zero, for every cell of the grid. */
static __global__ void __launch_bounds__(128) insert_complex(const __grid_constant__ gpu_modes m)
{
    int64_t x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (x == 0 && row == 0) *m.counter = 0;
    int64_t rows = m.fine[1] * m.fine[2] * m.batch;
    int64_t ix = x < m.fine[0] ? mode_index(x, m.modes[0], m.fine[0]) : -1;
    real fx = ix >= 0 ? m.factors[0][ix] : 0;
    if (x >= m.fine[0]) return;
    for (; row < rows; row += gridDim.y) {
        int64_t y = row % m.fine[1], z = row / m.fine[1] % m.fine[2];
        int64_t v = row / (m.fine[1] * m.fine[2]);
        int64_t iy = mode_index(y, m.modes[1], m.fine[1]);
        int64_t iz = mode_index(z, m.modes[2], m.fine[2]);
        complex_real r = {0, 0};
        if (ix >= 0 && iy >= 0 && iz >= 0) {
            const complex_real *from = (const complex_real *)m.modes_of;
            r = from[((v * m.modes[2] + iz) * m.modes[1] + iy) * m.modes[0] + ix];
            real f = m.factors[1][iy] * m.factors[2][iz] * fx;
            r.x *= f, r.y *= f;
        }
        ((complex_real *)m.grid)[row * m.fine[0] + x] = r;
    }
}

static __device__ complex_real mode_at(const gpu_modes &m, int64_t v, const int64_t k[3])
{
    complex_real r = {0, 0};
    int64_t at = v;
    for (int d = 2; d >= 0; d--) {
        int64_t i = k[d] + m.modes[d] / 2;
        if (i < 0 || i >= m.modes[d]) return r;
        at = at * m.modes[d] + i;
    }
    return ((const complex_real *)m.modes_of)[at];
}

/* The real path: the half-complex grid takes the Hermitian part, (f_k + conj f_-k) / 2. */
static __global__ void __launch_bounds__(128) insert_real(const __grid_constant__ gpu_modes m)
{
    int64_t half = m.fine[0] / 2 + 1;
    int64_t x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (x == 0 && row == 0) *m.counter = 0;
    int64_t rows = m.fine[1] * m.fine[2] * m.batch;
    if (x >= half) return;
    for (; row < rows; row += gridDim.y) {
        int64_t at[3] = {x, row % m.fine[1], row / m.fine[1] % m.fine[2]};
        int64_t v = row / (m.fine[1] * m.fine[2]), k[3], minus[3];
        real f = (real)0.5;
        bool inside = true;
        for (int d = 0; d < 3; d++) {
            k[d] = at[d] < m.fine[d] - at[d] ? at[d] : at[d] - m.fine[d];
            minus[d] = -k[d];
            int64_t size = k[d] < 0 ? -k[d] : k[d];
            inside = inside && size <= m.modes[d] / 2;
            if (inside) f *= m.factors[d][m.modes[d] / 2 - size];
        }
        complex_real r = {0, 0};
        if (inside) {
            complex_real a = mode_at(m, v, k), b = mode_at(m, v, minus);
            r.x = f * (a.x + b.x);
            r.y = f * (a.y - b.y) * (real)m.sign;
        }
        ((complex_real *)m.grid)[row * half + x] = r;
    }
}

static __global__ void __launch_bounds__(128) extract_modes(const __grid_constant__ gpu_modes m)
{
    int64_t x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    int64_t rows = m.modes[1] * m.modes[2] * m.batch;
    if (x >= m.modes[0]) return;
    int64_t kx = x - m.modes[0] / 2, width = m.real_path ? m.fine[0] / 2 + 1 : m.fine[0];
    real fx = m.factors[0][x];
    bool bad_points = *m.bad_points != 0;
    for (; row < rows; row += gridDim.y) {
        int64_t y = row % m.modes[1], z = row / m.modes[1] % m.modes[2];
        int64_t v = row / (m.modes[1] * m.modes[2]);
        int64_t k[3] = {kx, y - m.modes[1] / 2, z - m.modes[2] / 2};
        bool flip = m.real_path && kx < 0;
        for (int d = 0; d < 3; d++) {
            if (flip) k[d] = -k[d];
            if (k[d] < 0) k[d] += m.fine[d];
        }
        int64_t at = ((v * m.fine[2] + k[2]) * m.fine[1] + k[1]) * width + k[0];
        complex_real r = ((const complex_real *)m.grid)[at];
        real f = m.factors[1][y] * m.factors[2][z] * fx;
        r.x *= f;
        r.y *= flip != (m.real_path && m.sign < 0) ? -f : f;
        if (bad_points || m.bad[v]) r.x = r.y = (real)CUDART_NAN;
        ((complex_real *)m.modes_of)[row * m.modes[0] + x] = r;
    }
}

static dim3 blocks_for(int64_t width, int64_t rows)
{
    return dim3((uint32_t)((width + 127) / 128), (uint32_t)(rows < 65535 ? rows : 65535));
}

extern "C" cudaError_t PRECISE(gpu_insert)(const gpu_modes *m, cudaStream_t stream)
{
    int64_t rows = m->fine[1] * m->fine[2] * m->batch;
    if (m->real_path)
        insert_real<<<blocks_for(m->fine[0] / 2 + 1, rows), 128, 0, stream>>>(*m);
    else
        insert_complex<<<blocks_for(m->fine[0], rows), 128, 0, stream>>>(*m);
    return cudaGetLastError();
}

extern "C" cudaError_t PRECISE(gpu_extract)(const gpu_modes *m, cudaStream_t stream)
{
    int64_t rows = m->modes[1] * m->modes[2] * m->batch;
    extract_modes<<<blocks_for(m->modes[0], rows), 128, 0, stream>>>(*m);
    return cudaGetLastError();
}
