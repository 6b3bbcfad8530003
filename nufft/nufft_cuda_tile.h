/* nufft_cuda_tile.h: the kernel values of slots as the tile kernels pass them through shared memory;
   for nufft_cuda_tile.cu.

   Each lane computes those of a slot, in x, y and z, and stores them as a row; then the warp, or
   half of it, reads a row for each slot that it takes. */
#ifndef NUFFT_CUDA_TILE_H
#define NUFFT_CUDA_TILE_H

#include "nufft/nufft_cuda_kernel.h"

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

/* The lanes of a slot, the slots a warp takes at once, and a lane's cells in z. */
template <int W, int DIM> struct lanes {
    enum { PAIRS = DIM == 2 ? W <= 8 : W <= 5 && sizeof(real) == 4 }; /* measured */
    enum { N = PAIRS ? 16 : 32, TOGETHER = 32 / N, Z = DIM == 3 ? 64 / N : 1 };
    enum { BLOCKS = DIM == 2 ? 1 : PAIRS ? 5 : 6 }; /* of a processor: bounds the registers */
};

/* The row past the last, which the second half of a warp reads where there is no slot for it. */
template <typename R> static __device__ __forceinline__ void clear_spare(real *mine, int lane)
{
    for (int i = lane; i < R::SIZE; i += 32)
        mine[32 * R::SIZE + i] = 0;
}

/* The lane's x value(s) and z values of the slot whose row this is. */
template <int W, int DIM, int NC>
static __device__ __forceinline__ void read_row(const real *from, int at_x, bool inside, int lane,
                                                real x[NC], real *kz, real *ky)
{
    typedef row<W, DIM, NC> R;
    typedef lanes<W, DIM> L;
    if (NC == 2) {
        real_pair v = *(const real_pair *)(from + R::X + 2 * at_x);
        x[0] = inside ? v.x : 0, x[NC - 1] = inside ? v.y : 0;
    } else {
        x[0] = inside ? from[R::X + at_x] : 0;
    }
#pragma unroll
    for (int k = 0; k < L::Z; k++)
        kz[k] = DIM == 3 ? from[R::Z + lane % L::N / 8 * L::Z + k] : 1;
#pragma unroll
    for (int r = 0; r < R::PY; r++)
        ky[r] = from[R::Y + r];
}

#endif
