/* nufft_cuda_exact.cu: sums over the points that do not depend on their order, for deterministic plans.

   Every summand is rounded to a multiple of a unit so large that all sums of a cell are exact in a
   double, by adding and subtracting 1.5 x 2^e; what this cuts off goes, in double precision, to a
   second word with a smaller unit.  With S = sum |strength| < 2^E no sum exceeds 2^(E+1), as kernels
   are at most 1 (and a little): 2^(E-50) is the first word's unit, below the rounding of a single
   result.  At most 2^31 remainders of up to half of that make the second's unit 2^(E-70).
   S itself is summed up in a fixed order. */
#include "nufft/nufft_cuda.h"

enum { THREADS = 256 };

/* Reals of one vector's strengths; pairs of real vectors follow one another like complex numbers. */
static __device__ int64_t reals_of(const gpu_task &a)
{
    return a.grid_step / a.g.n_cells * a.n_points;
}

static __global__ void __launch_bounds__(THREADS) sum_strengths(const __grid_constant__ gpu_task a)
{
    __shared__ double shared[THREADS];
    int64_t n = reals_of(a), from = blockIdx.y * n, to = from + n;
    if (a.n_paired) to = min(to, a.n_paired * a.n_points);
    double sum = 0;
    for (int64_t i = from + (int64_t)blockIdx.x * THREADS + threadIdx.x; i < to;
         i += GPU_SUMS * THREADS) {
        double size = fabs((double)a.values[i]);
        if (isfinite(size)) sum += size;
    }
    shared[threadIdx.x] = sum;
    for (int step = THREADS / 2; step; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) shared[threadIdx.x] += shared[threadIdx.x + step];
    }
    if (threadIdx.x == 0) a.sums[blockIdx.y * GPU_SUMS + blockIdx.x] = shared[0];
}

static __global__ void choose_units(const __grid_constant__ gpu_task a)
{
    int exponent = 0;
    double sum = 0;
    for (int i = 0; i < GPU_SUMS; i++)
        sum += a.sums[blockIdx.x * GPU_SUMS + i];
    (void)frexp(fmin(sum, 0x1p1000), &exponent);
    a.rounding[2 * blockIdx.x] = ldexp(1.5, exponent + 2);
    a.rounding[2 * blockIdx.x + 1] = ldexp(1.5, exponent - 18);
}

static __global__ void __launch_bounds__(THREADS) add_words(const __grid_constant__ gpu_task a)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x, n = a.batch * a.grid_step;
    if (i >= n) return;
    double sum = a.exact[i];
    for (int word = 1; word < GPU_EXACT_WORDS; word++)
        sum += a.exact[i + word * n];
    a.grid[i] = (real)sum;
}

extern "C" cudaError_t PRECISE(gpu_begin_exact)(const gpu_task *a, cudaStream_t stream)
{
    size_t bytes = sizeof(double) * GPU_EXACT_WORDS * (size_t)(a->batch * a->grid_step);
    cudaMemsetAsync(a->exact, 0, bytes, stream);
    sum_strengths<<<dim3(GPU_SUMS, (uint32_t)a->batch), THREADS, 0, stream>>>(*a);
    choose_units<<<(uint32_t)a->batch, 1, 0, stream>>>(*a);
    return cudaGetLastError();
}

extern "C" cudaError_t PRECISE(gpu_end_exact)(const gpu_task *a, cudaStream_t stream)
{
    int64_t n = a->batch * a->grid_step;
    add_words<<<(uint32_t)((n + THREADS - 1) / THREADS), THREADS, 0, stream>>>(*a);
    return cudaGetLastError();
}
