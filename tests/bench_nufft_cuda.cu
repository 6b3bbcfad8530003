/* bench_nufft_cuda.cu: times the NUFFT on a GPU and checks the very run that was timed.

   bench_nufft_cuda [suite | quick | CASE..]   CASE: a tag of the table below
   Times are medians by CUDA events, points set before.  The error is
   sqrt(sum |computed - exact|^2 / sum |exact|^2) over 256 outputs, corners included, the exact sums
   by a kernel of its own.  Output: CSV, times in ms, beside the best figures known of cuFINUFFT on
   an H200. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>

extern "C" {
#include "nufft/nufft.h"
}

enum { N_CHECKED = 256 };

static void check(status code)
{
    if (code == STATUS_OK) return;
    fprintf(stderr, "%s (%s)\n", status_message(), status_place());
    exit(1);
}

static void check(cudaError_t error)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    exit(1);
}

/* A hash of (seed, i) uniform in [0, 1). */
static __host__ __device__ double uniform(uint64_t seed, uint64_t i)
{
    uint64_t z = (seed * 0x9e3779b97f4a7c15ull) ^ (i + 0x632be59bd9b4e019ull);
    for (int round = 0; round < 2; round++) {
        z += 0x9e3779b97f4a7c15ull;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        z ^= z >> 31;
    }
    return (double)(z >> 11) * 0x1p-53;
}

template <typename T> static __global__ void fill_numbers(T *to, int64_t n, uint64_t seed)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = (T)(2 * uniform(seed, i) - 1);
}

/* dist: 0 random, 1 within 8 cells of the fine grid of 2 N, 2 Ewald spheres, 3 within one cell. */
template <typename T>
static __global__ void fill_points(T *x, T *y, T *z, int64_t n, int dim, int dist, int side,
                                   double cell)
{
    const double PI = 3.14159265358979323846;
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= n) return;
    double p[3];
    for (int d = 0; d < 3; d++) {
        double u = uniform(11 + d, j);
        p[d] = dist == 0 ? PI * (2 * u - 1) : dist == 1 ? 8 * cell * u : cell * (0.1 + 0.8 * u);
    }
    if (dist == 2) {
        int64_t image = j / ((int64_t)side * side);
        int at = (int)(j % ((int64_t)side * side));
        /* A random rotation (Shoemake 1992). */
        double u = uniform(1, image), v = 2 * PI * uniform(2, image),
               w = 2 * PI * uniform(3, image);
        double q[4] = {sqrt(1 - u) * sin(v), sqrt(1 - u) * cos(v), sqrt(u) * sin(w),
                       sqrt(u) * cos(w)};
        double k = 3 * PI * (1 - 1e-6), edge = tan(2 * asin(1.0 / 6)) / sqrt(2.0);
        double a = edge * (2.0 * (at % side) / (side - 1) - 1);
        double b = edge * (2.0 * (at / side) / (side - 1) - 1);
        double length = sqrt(a * a + b * b + 1);
        double s[3] = {k * a / length, k * b / length, k * (1 / length - 1)};
        double r[3][3] = {{1 - 2 * (q[2] * q[2] + q[3] * q[3]), 2 * (q[1] * q[2] - q[0] * q[3]),
                           2 * (q[1] * q[3] + q[0] * q[2])},
                          {2 * (q[1] * q[2] + q[0] * q[3]), 1 - 2 * (q[1] * q[1] + q[3] * q[3]),
                           2 * (q[2] * q[3] - q[0] * q[1])},
                          {2 * (q[1] * q[3] - q[0] * q[2]), 2 * (q[2] * q[3] + q[0] * q[1]),
                           1 - 2 * (q[1] * q[1] + q[2] * q[2])}};
        for (int d = 0; d < 3; d++)
            p[d] = r[d][0] * s[0] + r[d][1] * s[1] + r[d][2] * s[2];
    }
    x[j] = (T)p[0];
    if (dim > 1) y[j] = (T)p[1];
    if (dim > 2) z[j] = (T)p[2];
}

/* The modes that are checked: all corners, the centre, then random ones. */
static __host__ __device__ void checked_mode(int i, int dim, const int64_t *modes, int64_t k[3])
{
    for (int d = 0; d < 3; d++) {
        int64_t n = d < dim ? modes[d] : 1;
        int64_t at = i < 8    ? (i >> d & 1 ? n - 1 : 0)
                     : i == 8 ? n / 2
                              : (int64_t)(uniform(31 + d, i) * n);
        k[d] = at - n / 2;
    }
}

static __host__ __device__ int64_t checked_point(int i, int64_t n)
{
    return (int64_t)(uniform(41, i) * n);
}

struct problem {
    int dim;
    int64_t modes[3], n_points;
    bool real_path;
};

/* One output a block column: exact[i] += sum over a share of the inputs. */
template <typename T>
static __global__ void exact_sums(problem p, bool adjoint, const T *x, const T *y, const T *z,
                                  const T *in, double *exact)
{
    int i = blockIdx.y;
    int64_t n_modes = p.modes[0] * p.modes[1] * p.modes[2];
    int64_t n = adjoint ? p.n_points : n_modes, k[3] = {0, 0, 0};
    double at[3] = {0, 0, 0}, re = 0, im = 0;
    if (adjoint) {
        checked_mode(i, p.dim, p.modes, k);
    } else {
        int64_t j = checked_point(i, p.n_points);
        at[0] = x[j];
        if (p.dim > 1) at[1] = y[j];
        if (p.dim > 2) at[2] = z[j];
    }
    for (int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; j < n;
         j += (int64_t)gridDim.x * blockDim.x) {
        double a, b = 0, s, c;
        if (adjoint) {
            at[0] = x[j];
            if (p.dim > 1) at[1] = y[j];
            if (p.dim > 2) at[2] = z[j];
            a = p.real_path ? in[j] : in[2 * j];
            if (!p.real_path) b = in[2 * j + 1];
        } else {
            k[0] = j % p.modes[0] - p.modes[0] / 2;
            k[1] = j / p.modes[0] % p.modes[1] - p.modes[1] / 2;
            k[2] = j / (p.modes[0] * p.modes[1]) - p.modes[2] / 2;
            a = in[2 * j], b = in[2 * j + 1];
        }
        sincos(k[0] * at[0] + k[1] * at[1] + k[2] * at[2], &s, &c);
        if (adjoint) s = -s;
        re += a * c - b * s;
        im += a * s + b * c;
    }
    for (int step = 16; step; step /= 2) {
        re += __shfl_xor_sync(0xffffffffu, re, step);
        im += __shfl_xor_sync(0xffffffffu, im, step);
    }
    if (threadIdx.x % 32) return;
    atomicAdd(exact + 2 * i, re);
    if (adjoint || !p.real_path) atomicAdd(exact + 2 * i + 1, im);
}

template <typename T>
static __global__ void gather_checked(problem p, bool adjoint, const T *out, double *to)
{
    int i = threadIdx.x;
    int64_t k[3], at = checked_point(i, p.n_points);
    if (adjoint) {
        checked_mode(i, p.dim, p.modes, k);
        at = 0;
        for (int d = 2; d >= 0; d--)
            at = at * (d < p.dim ? p.modes[d] : 1) + k[d] + (d < p.dim ? p.modes[d] / 2 : 0);
    }
    bool real_out = p.real_path && !adjoint;
    to[2 * i] = real_out ? out[at] : out[2 * at];
    to[2 * i + 1] = real_out ? 0 : out[2 * at + 1];
}

struct bench_case {
    const char *tag;
    int dim;
    int64_t n, n_points;
    bool is_double;
    double tolerance;
    int dist; /* as in fill_points */
    int batch;
    bool real_path;
    double peer[2], must[2], aim[2]; /* type 1, type 2; 0: no figure */
    int repeats;
};

static const bench_case CASES[] = {
    {"merge", 3, 81, 16384000, true, 1e-12, 2, 1, false, {114.5, 0}, {7, 0}, {4.8, 0}, 11},
    {"merge_r", 3, 81, 16384000, true, 1e-12, 2, 1, true, {114.5, 0}, {4.2, 0}, {2.8, 0}, 11},
    {"merge_2", 3, 81, 16384000, true, 1e-12, 2, 2, true, {229, 0}, {7.5, 0}, {5, 0}, 11},
    {"slice", 3, 41, 1024000, true, 1e-12, 2, 1, false, {0, 3.70}, {0, 0.7}, {0, 0.36}, 21},
    {"slice_r", 3, 41, 1024000, true, 1e-12, 2, 1, true, {0, 3.70}, {0, 0.45}, {0, 0.22}, 21},
    {"d6n81", 3, 81, 16384000, true, 1e-6, 2, 1, false, {21.8, 8.9}, {3.5, 4}, {2, 2}, 11},
    {"d12n100", 3, 100, 10000000, true, 1e-12, 0, 1, false, {71.8, 34}, {7, 7}, {4.5, 4}, 11},
    {"f5n100", 3, 100, 10000000, false, 1e-5, 0, 1, false, {5.72, 2.92}, {2, 1.5}, {1, 0.8}, 21},
    {"f5n256", 3, 256, 134217728, false, 1e-5, 0, 1, false, {76.7, 39.6}, {25, 20}, {12, 10}, 5},
    {"f4n128", 3, 128, 40000000, false, 1e-4, 2, 1, false, {12.4, 6.8}, {5, 4}, {2.5, 2.5}, 11},
    {"f5n1000", 2, 1000, 10000000, false, 1e-5, 0, 1, false, {1.32, 1.09}, {.9, .7}, {.6, .5}, 21},
    {"f5n64x10", 3, 64, 1000000, false, 1e-5, 0, 10, false, {6.84, 3.6}, {2.5, 2}, {1.2, 1}, 21},
    {"f6n256", 3, 256, 134217728, false, 1e-6, 0, 1, false, {0, 0}, {0, 0}, {0, 0}, 5},
    {"merge_c", 3, 81, 16384000, true, 1e-12, 1, 1, false, {114.5, 0}, {0, 0}, {0, 0}, 5},
    {"merge_u", 3, 81, 16384000, true, 1e-12, 0, 1, false, {117, 0}, {0, 0}, {0, 0}, 5},
    {"d6n81_c", 3, 81, 16384000, true, 1e-6, 1, 1, false, {21.8, 8.7}, {0, 0}, {0, 0}, 5},
    {"d12n100_c", 3, 100, 10000000, true, 1e-12, 1, 1, false, {69.9, 30.4}, {0, 0}, {0, 0}, 5},
    {"f5n100_c", 3, 100, 10000000, false, 1e-5, 1, 1, false, {5.62, 2.21}, {0, 0}, {0, 0}, 11},
    {"f5n256_c", 3, 256, 134217728, false, 1e-5, 1, 1, false, {72.9, 29.2}, {0, 0}, {0, 0}, 5},
    {"f4n128_c", 3, 128, 40000000, false, 1e-4, 1, 1, false, {12.2, 6.28}, {0, 0}, {0, 0}, 5},
    {"f5n1000_c", 2, 1000, 10000000, false, 1e-5, 1, 1, false, {1.29, .4}, {0, 0}, {0, 0}, 11},
    {"f5n256_1", 3, 256, 134217728, false, 1e-5, 3, 1, false, {0, 0}, {0, 0}, {0, 0}, 3},
    {"f5n32", 3, 32, 262144, false, 1e-5, 0, 1, false, {.218, .133}, {0, 0}, {0, 0}, 21},
    {"f2n256", 3, 256, 134217728, false, 1e-2, 0, 1, false, {41.1, 21.8}, {0, 0}, {0, 0}, 5},
};

static void *allocate(const device *dev, int64_t bytes)
{
    void *memory;
    check(device_alloc(dev, bytes, &memory));
    return memory;
}

struct timer {
    cudaStream_t stream;
    cudaEvent_t start, stop;
    std::vector<double> ms;
    explicit timer(const device *dev) : stream((cudaStream_t)device_stream(dev))
    {
        check(cudaEventCreate(&start));
        check(cudaEventCreate(&stop));
    }
    ~timer()
    {
        cudaEventDestroy(start);
        cudaEventDestroy(stop);
    }
    void begin()
    {
        check(cudaEventRecord(start, stream));
    }
    void end()
    {
        float t;
        check(cudaEventRecord(stop, stream));
        check(cudaEventSynchronize(stop));
        check(cudaEventElapsedTime(&t, start, stop));
        ms.push_back(t);
    }
    double median()
    {
        std::sort(ms.begin(), ms.end());
        return ms[ms.size() / 2];
    }
};

template <typename T>
static double error_of(const device *dev, const problem &p, bool adjoint, T *const x[3],
                       const T *in, const T *out)
{
    double *exact = (double *)allocate(dev, 4 * N_CHECKED * sizeof(double));
    std::vector<double> host(4 * N_CHECKED);
    cudaStream_t stream = (cudaStream_t)device_stream(dev);
    check(device_zero(dev, exact, 4 * N_CHECKED * sizeof(double)));
    exact_sums<<<dim3(64, N_CHECKED), 256, 0, stream>>>(p, adjoint, x[0], x[1], x[2], in, exact);
    gather_checked<<<1, N_CHECKED, 0, stream>>>(p, adjoint, out, exact + 2 * N_CHECKED);
    check(cudaGetLastError());
    check(device_to_host(dev, host.data(), exact, 4 * N_CHECKED * sizeof(double)));
    device_free(dev, exact);
    double off = 0, norm = 0;
    for (int i = 0; i < 2 * N_CHECKED; i++) {
        double d = host[2 * N_CHECKED + i] - host[i];
        off += d * d;
        norm += host[i] * host[i];
    }
    return sqrt(off / norm);
}

template <typename T>
static void run_case(const device *dev, const bench_case &c, nufft_method method)
{
    static const char *const DISTS[] = {"rand", "cluster", "ewald", "onecell"};
    cudaStream_t stream = (cudaStream_t)device_stream(dev);
    int64_t modes[3] = {c.n, c.dim > 1 ? c.n : 1, c.dim > 2 ? c.n : 1}, n = c.n_points;
    int64_t n_modes = modes[0] * modes[1] * modes[2], parts = c.real_path ? 1 : 2;
    problem p = {c.dim, {modes[0], modes[1], modes[2]}, n, c.real_path};
    T *x[3] = {NULL, NULL, NULL};
    for (int d = 0; d < c.dim; d++)
        x[d] = (T *)allocate(dev, n * sizeof(T));
    T *values = (T *)allocate(dev, parts * n * c.batch * sizeof(T));
    T *f = (T *)allocate(dev, 2 * n_modes * c.batch * sizeof(T));
    T *result = (T *)allocate(dev, std::max(parts * n, 2 * n_modes) * c.batch * sizeof(T));
    fill_points<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(
        x[0], x[1], x[2], n, c.dim, c.dist, c.n == 41 ? 32 : 128,
        3.14159265358979323846 / (double)c.n);
    fill_numbers<<<(unsigned)((parts * n * c.batch + 255) / 256), 256, 0, stream>>>(
        values, parts * n * c.batch, 21);
    fill_numbers<<<(unsigned)((2 * n_modes * c.batch + 255) / 256), 256, 0, stream>>>(
        f, 2 * n_modes * c.batch, 22);
    check(cudaGetLastError());
    nufft_options o = {};
    o.precision = c.is_double ? PRECISION_DOUBLE : PRECISION_SINGLE;
    o.tolerance = c.tolerance;
    o.real = c.real_path;
    o.batch = c.batch;
    o.method = method;
    nufft *plan, *timed;
    check(nufft_create(dev, c.dim, modes, &o, &plan));
    const void *const at[3] = {x[0], x[1], x[2]};
    check(nufft_set_points(plan, n, at));
    timer set(dev);
    for (int i = 0; i < 5; i++) {
        set.begin();
        check(nufft_set_points(plan, n, at));
        set.end();
    }
    nufft_info info;
    nufft_get_info(plan, &info);
    check(nufft_create(dev, c.dim, modes, &o, &timed));
    check(nufft_set_points(timed, n, at));
    for (int type = 1; type <= 2; type++) {
        timer exec(dev);
        for (int i = 0; i <= c.repeats; i++) {
            exec.begin();
            check(type == 1 ? nufft_adjoint(plan, values, result) : nufft_forward(plan, f, result));
            exec.end();
            if (i == 0) exec.ms.clear();
        }
        double error = error_of<T>(dev, p, type == 1, x, type == 1 ? values : f, result);
        nufft_times t;
        for (int i = 0; i < 4; i++) {
            check(type == 1 ? nufft_adjoint(timed, values, result)
                            : nufft_forward(timed, f, result));
            if (i == 0) nufft_time_stages(timed, true);
        }
        check(nufft_get_times(timed, &t));
        double ms = exec.median(), peer = c.peer[type - 1], must = c.must[type - 1];
        printf("%s,%d,%s,%s,%d,%lld,%lld,%g,%s,%d,%d,%d,%lld,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.3e,"
               "%.1f,%.3f,%g,%g,%g,%s\n",
               c.tag, type, c.is_double ? "d" : "f", c.real_path ? "real" : "complex", c.dim,
               (long long)c.n, (long long)n, c.tolerance, DISTS[c.dist], c.batch, (int)method,
               info.width, (long long)info.fine[0], set.median(), ms, exec.ms[0],
               1e3 / 3 * (t.spread + t.interpolate), 1e3 / 3 * t.fft, 1e3 / 3 * t.deconvolve, error,
               (double)info.bytes / 1e6, 1e6 * ms / (double)(n * c.batch), peer, must,
               c.aim[type - 1],
               must == 0               ? "-"
               : ms <= c.aim[type - 1] ? "aim"
               : ms <= must            ? "must"
                                       : "missed");
        fflush(stdout);
    }
    nufft_destroy(plan);
    nufft_destroy(timed);
    for (int d = 0; d < 3; d++)
        device_free(dev, x[d]);
    device_free(dev, values);
    device_free(dev, f);
    device_free(dev, result);
}

int main(int argc, char **argv)
{
    device *dev;
    check(device_create_cuda(-1, &dev));
    printf("case,type,precision,path,dim,N,M,tolerance,points,batch,method,width,fine,set_ms,"
           "exec_ms,exec_min_ms,spread_ms,fft_ms,deconvolve_ms,error,plan_MB,ns_per_point,peer_ms,"
           "must_ms,aim_ms,verdict\n");
    int method = NUFFT_DEFAULT;
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "method=", 7)) {
            method = atoi(argv[i] + 7);
            continue;
        }
        for (const bench_case &c : CASES) {
            if (strcmp(argv[i], "suite") && strcmp(argv[i], c.tag)) continue;
            if (c.is_double)
                run_case<double>(dev, c, (nufft_method)method);
            else
                run_case<float>(dev, c, (nufft_method)method);
        }
    }
    device_destroy(dev);
    return 0;
}
