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
static __device__ __forceinline__ int mode_index(int i, int modes, int fine)
{
    int k = i < fine - i ? i : i - fine;
    int at = k + modes / 2;
    return at >= 0 && at < modes ? at : -1;
}

/* The complex path: mode or zero, for every cell of the grid.  A block takes rows of one plane;
   planes of all vectors are gridDim.z. */
static __global__ void __launch_bounds__(128) insert_complex(const __grid_constant__ gpu_modes m)
{
    const int mx = (int)m.modes[0], my = (int)m.modes[1], mz = (int)m.modes[2];
    const int nx = (int)m.fine[0], ny = (int)m.fine[1], nz = (int)m.fine[2];
    if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y == 0) *m.counter = 0;
    for (int plane = blockIdx.z; plane < nz * m.batch; plane += gridDim.z) {
        int v = plane / nz, iz = mode_index(plane - v * nz, mz, nz);
        real fz = iz >= 0 ? m.factors[2][iz] : 0;
        for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < ny; y += gridDim.y * blockDim.y) {
            int iy = mode_index(y, my, ny);
            bool inside = iy >= 0 && iz >= 0;
            real fy = inside ? m.factors[1][iy] * fz : 0;
            const complex_real *from =
                (const complex_real *)m.modes_of + (((int64_t)v * mz + iz) * my + iy) * mx;
            complex_real *to = (complex_real *)m.grid + ((int64_t)plane * ny + y) * nx;
            for (int x = threadIdx.x; x < nx; x += blockDim.x) {
                int ix = inside ? mode_index(x, mx, nx) : -1;
                complex_real r = {0, 0};
                if (ix >= 0) {
                    real f = fy * m.factors[0][ix];
                    r = from[ix];
                    r.x *= f, r.y *= f;
                }
                to[x] = r;
            }
        }
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

/* Two real vectors as parts of a complex grid: each takes its Hermitian part, a + i b. */
static __global__ void __launch_bounds__(128) insert_pairs(const __grid_constant__ gpu_modes m)
{
    int64_t x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (x == 0 && row == 0) *m.counter = 0;
    int64_t rows = m.fine[1] * m.fine[2] * ((m.batch + 1) / 2);
    if (x >= m.fine[0]) return;
    for (; row < rows; row += gridDim.y) {
        int64_t at[3] = {x, row % m.fine[1], row / m.fine[1] % m.fine[2]};
        int64_t pair = row / (m.fine[1] * m.fine[2]), k[3], minus[3];
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
            complex_real a = mode_at(m, 2 * pair, k), b = mode_at(m, 2 * pair, minus);
            r.x = f * (a.x + b.x);
            r.y = f * (a.y - b.y);
            if (2 * pair + 1 < m.batch) {
                a = mode_at(m, 2 * pair + 1, k), b = mode_at(m, 2 * pair + 1, minus);
                r.x -= f * (a.y - b.y);
                r.y += f * (a.x + b.x);
            }
        }
        ((complex_real *)m.grid)[row * m.fine[0] + x] = r;
    }
}

/* The transforms of a pair's parts: (G(k) + conj G(-k)) / 2 and (G(k) - conj G(-k)) / 2i. */
static __global__ void __launch_bounds__(128) extract_pairs(const __grid_constant__ gpu_modes m)
{
    int64_t x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    int64_t rows = m.modes[1] * m.modes[2] * m.batch;
    if (x >= m.modes[0]) return;
    bool bad_points = *m.bad_points != 0;
    for (; row < rows; row += gridDim.y) {
        int64_t index[3] = {x, row % m.modes[1], row / m.modes[1] % m.modes[2]};
        int64_t v = row / (m.modes[1] * m.modes[2]), at = v / 2, minus = v / 2;
        real f = (real)0.5;
        for (int d = 2; d >= 0; d--) {
            int64_t k = index[d] - m.modes[d] / 2;
            at = at * m.fine[d] + (k < 0 ? k + m.fine[d] : k);
            minus = minus * m.fine[d] + (k > 0 ? m.fine[d] - k : -k);
            f *= m.factors[d][index[d]];
        }
        complex_real g = ((const complex_real *)m.grid)[at];
        complex_real h = ((const complex_real *)m.grid)[minus], r;
        r.x = f * (v % 2 ? g.y + h.y : g.x + h.x);
        r.y = f * (v % 2 ? h.x - g.x : g.y - h.y);
        if (bad_points || m.bad[v]) r.x = r.y = (real)CUDART_NAN;
        ((complex_real *)m.modes_of)[row * m.modes[0] + x] = r;
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
    int64_t rows = m->fine[1] * m->fine[2] * m->batch, planes = m->fine[2] * m->batch;
    if (m->paired) {
        rows = m->fine[1] * m->fine[2] * ((m->batch + 1) / 2);
        insert_pairs<<<blocks_for(m->fine[0], rows), 128, 0, stream>>>(*m);
        return cudaGetLastError();
    }
    if (m->real_path) {
        insert_real<<<blocks_for(m->fine[0] / 2 + 1, rows), 128, 0, stream>>>(*m);
        return cudaGetLastError();
    }
    dim3 threads(m->fine[0] > 64 || m->fine[1] == 1 ? 128 : 32, 1);
    threads.y = 128 / threads.x;
    uint32_t lines = (uint32_t)((m->fine[1] + threads.y - 1) / threads.y);
    dim3 blocks(1, lines < 65535 ? lines : 65535, (uint32_t)(planes < 65535 ? planes : 65535));
    insert_complex<<<blocks, threads, 0, stream>>>(*m);
    return cudaGetLastError();
}

extern "C" cudaError_t PRECISE(gpu_extract)(const gpu_modes *m, cudaStream_t stream)
{
    int64_t rows = m->modes[1] * m->modes[2] * m->batch;
    dim3 blocks = blocks_for(m->modes[0], rows);
    if (m->paired)
        extract_pairs<<<blocks, 128, 0, stream>>>(*m);
    else
        extract_modes<<<blocks, 128, 0, stream>>>(*m);
    return cudaGetLastError();
}
