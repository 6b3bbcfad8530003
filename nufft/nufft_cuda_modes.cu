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

typedef struct frequency {
    int k[3];
} frequency;

static __device__ frequency minus(frequency of)
{
    return frequency{{-of.k[0], -of.k[1], -of.k[2]}};
}

static __device__ complex_real mode_at(const gpu_modes &m, int64_t v, frequency of)
{
    complex_real r = {0, 0};
    int64_t at = v;
    for (int d = 2; d >= 0; d--) {
        int64_t i = of.k[d] + m.modes[d] / 2;
        if (i < 0 || i >= m.modes[d]) return r;
        at = at * m.modes[d] + i;
    }
    return ((const complex_real *)m.modes_of)[at];
}

/* f times the Hermitian part of a vector's modes, (f_k + conj f_-k) / 2. */
static __device__ complex_real hermitian_part(const gpu_modes &m, int64_t v, frequency of, real f)
{
    complex_real a = mode_at(m, v, of), b = mode_at(m, v, minus(of));
    return complex_real{f * (a.x + b.x) / 2, f * (a.y - b.y) / 2};
}

/* The real path: a grid takes the Hermitian part a of its vector, a half-complex one, or (PAIRED)
   a + i b of two vectors. */
template <bool PAIRED>
static __global__ void __launch_bounds__(128) insert_hermitian(const __grid_constant__ gpu_modes m)
{
    int64_t width = PAIRED ? m.fine[0] : m.fine[0] / 2 + 1, row = blockIdx.y;
    int64_t x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (x == 0 && row == 0) *m.counter = 0;
    int64_t rows = m.fine[1] * m.fine[2] * (PAIRED ? (m.batch + 1) / 2 : m.batch);
    if (x >= width) return;
    for (; row < rows; row += gridDim.y) {
        int64_t at[3] = {x, row % m.fine[1], row / m.fine[1] % m.fine[2]};
        int64_t v = row / (m.fine[1] * m.fine[2]) * (PAIRED ? 2 : 1);
        frequency of;
        real f = 1;
        for (int d = 0; d < 3; d++) {
            of.k[d] = (int)(at[d] < m.fine[d] - at[d] ? at[d] : at[d] - m.fine[d]);
            int size = abs(of.k[d]), most = (int)(m.modes[d] / 2);
            f = size <= most ? f * m.factors[d][most - min(size, most)] : 0;
        }
        complex_real r = {0, 0};
        if (f != 0) r = hermitian_part(m, v, of, f);
        if (!PAIRED) r.y *= m.sign;
        if (PAIRED && f != 0 && v + 1 < m.batch) {
            complex_real b = hermitian_part(m, v + 1, of, f);
            r.x -= b.y;
            r.y += b.x;
        }
        ((complex_real *)m.grid)[row * width + x] = r;
    }
}

/* A frequency's number in a grid whose rows are `width` long. */
static __device__ complex_real grid_at(const gpu_modes &m, int64_t grid, frequency of,
                                       int64_t width)
{
    int64_t at = grid;
    for (int d = 2; d >= 0; d--)
        at = at * (d ? m.fine[d] : width) + (of.k[d] < 0 ? of.k[d] + m.fine[d] : of.k[d]);
    return ((const complex_real *)m.grid)[at];
}

/* A real vector's modes from those of its grid G, or from a pair's: (G(k) + conj G(-k)) / 2 and
   (G(k) - conj G(-k)) / 2i. */
static __device__ complex_real real_modes(const gpu_modes &m, int64_t v, frequency of)
{
    bool flip = of.k[0] < 0;
    if (m.paired) {
        complex_real g = grid_at(m, v / 2, of, m.fine[0]),
                     h = grid_at(m, v / 2, minus(of), m.fine[0]);
        if (v % 2) return complex_real{(g.y + h.y) / 2, (h.x - g.x) / 2};
        return complex_real{(g.x + h.x) / 2, (g.y - h.y) / 2};
    }
    complex_real r = grid_at(m, v, flip ? minus(of) : of, m.fine[0] / 2 + 1);
    if (flip != (m.sign < 0)) r.y = -r.y;
    return r;
}

static __global__ void __launch_bounds__(128) extract_modes(const __grid_constant__ gpu_modes m)
{
    int64_t x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    int64_t rows = m.modes[1] * m.modes[2] * m.batch;
    if (x >= m.modes[0]) return;
    bool bad_points = *m.bad_points != 0;
    for (; row < rows; row += gridDim.y) {
        int64_t y = row % m.modes[1], z = row / m.modes[1] % m.modes[2];
        int64_t v = row / (m.modes[1] * m.modes[2]);
        frequency of = {
            {(int)(x - m.modes[0] / 2), (int)(y - m.modes[1] / 2), (int)(z - m.modes[2] / 2)}};
        complex_real r =
            m.real_path || m.paired ? real_modes(m, v, of) : grid_at(m, v, of, m.fine[0]);
        real f = m.factors[0][x] * m.factors[1][y] * m.factors[2][z];
        r.x *= f, r.y *= f;
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
        insert_hermitian<true><<<blocks_for(m->fine[0], rows), 128, 0, stream>>>(*m);
        return cudaGetLastError();
    }
    if (m->real_path) {
        insert_hermitian<false><<<blocks_for(m->fine[0] / 2 + 1, rows), 128, 0, stream>>>(*m);
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
    extract_modes<<<blocks_for(m->modes[0], rows), 128, 0, stream>>>(*m);
    return cudaGetLastError();
}
