#include "bench_nufft.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <omp.h>

#include "bench_nufft_data.h"

typedef struct options {
    int type, batch, threads, repeat, outputs;
    bool json, gpu, help;
    bench_points kind;
    bench_problem problem;
    nufft_options nufft;
} options;

static const char HELP[] =
    "Times one nonuniform FFT and compares a sample of its output with the direct sums.\n"
    "  --dim 1|2|3            dimensions [3]\n"
    "  --type 1|2             adjoint or forward [1]\n"
    "  --precision P          single or double [double]\n"
    "  --modes N[,N[,N]]      modes per dimension, x first [81,81,81]\n"
    "  --points N             number of points [1000000]\n"
    "  --tolerance E          relative l2 error asked for [1e-6]\n"
    "  --points-from KIND     rand, cluster or ewald [rand]\n"
    "  --real                 real values at the points\n"
    "  --batch N              vectors transformed together [1]\n"
    "  --threads N            of the CPU [all]\n"
    "  --gpu                  on the current GPU\n"
    "  --upsampling S         2 or 1.25 [the plan chooses]\n"
    "  --repeat N             timed runs, at least 5 [7]\n"
    "  --outputs N            outputs compared, at least 200 [200]\n"
    "  --json                 JSON instead of a table\n";

static status parse_number(const char *name, const char *text, double least, double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (end == text || *end || !(*value >= least))
        FAIL(STATUS_USAGE, "%s is '%s', not a number of at least %g", name, text, least);
    return STATUS_OK;
}

static status parse_modes(const char *text, bench_problem *b)
{
    const char *at = text;
    for (int d = 0; d < 3; d++) {
        char *end;
        long long n = strtoll(at, &end, 10);
        if (end == at || n < 1 || n > 1000000000)
            FAIL(STATUS_USAGE, "--modes is '%s', not up to three sizes like 81,81,81", text);
        b->modes[d] = n;
        if (!*end) {
            for (int e = d + 1; e < 3; e++)
                b->modes[e] = n;
            return STATUS_OK;
        }
        if (*end != ',' || d == 2)
            FAIL(STATUS_USAGE, "--modes is '%s', not up to three sizes like 81,81,81", text);
        at = end + 1;
    }
    return STATUS_OK;
}

/* The index of text among the names, which end in NULL. */
static status parse_choice(const char *name, const char *text, const char *const names[],
                           int *value)
{
    for (*value = 0; names[*value]; ++*value)
        if (strcmp(text, names[*value]) == 0) return STATUS_OK;
    FAIL(STATUS_USAGE, "%s is '%s'; see --help", name, text);
}

static bool parse_flag(const char *name, options *o)
{
    bool *flags[] = {&o->json, &o->gpu, &o->help, &o->nufft.real};
    const char *const names[] = {"--json", "--gpu", "--help", "--real"};
    for (int i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0) return *flags[i] = true;
    return false;
}

static status parse_option(const char *name, const char *text, options *o)
{
    static const char *const precisions[] = {"single", "double", NULL};
    static const char *const kinds[] = {"rand", "cluster", "ewald", NULL};
    static const struct {
        const char *name;
        double least;
    } numbers[] = {{"--dim", 1},     {"--type", 1},      {"--batch", 1},
                   {"--threads", 0}, {"--repeat", 5},    {"--outputs", 200},
                   {"--points", 0},  {"--tolerance", 0}, {"--upsampling", 0}};
    int *const ints[] = {&o->problem.dim, &o->type,   &o->batch,
                         &o->threads,     &o->repeat, &o->outputs};
    int choice;
    if (!text) FAIL(STATUS_USAGE, "%s needs a value or is unknown; see --help", name);
    if (strcmp(name, "--modes") == 0) return parse_modes(text, &o->problem);
    if (strcmp(name, "--precision") == 0) {
        TRY(parse_choice(name, text, precisions, &choice));
        o->nufft.precision = choice ? PRECISION_DOUBLE : PRECISION_SINGLE;
        return STATUS_OK;
    }
    if (strcmp(name, "--points-from") == 0) {
        TRY(parse_choice(name, text, kinds, &choice));
        o->kind = (bench_points)choice;
        return STATUS_OK;
    }
    for (int i = 0; i < 9; i++) {
        double value;
        if (strcmp(name, numbers[i].name) != 0) continue;
        TRY(parse_number(name, text, numbers[i].least, &value));
        if (i < 6) *ints[i] = (int)value;
        if (i == 6) o->problem.n_points = (int64_t)value;
        if (i == 7) o->nufft.tolerance = value;
        if (i == 8) o->nufft.upsampling = value;
        return STATUS_OK;
    }
    FAIL(STATUS_USAGE, "unknown option '%s'; see --help", name);
}

static status parse(int argc, char **argv, options *o)
{
    *o = (options){.type = 1,
                   .batch = 1,
                   .repeat = 7,
                   .outputs = 200,
                   .problem = {.dim = 3, .modes = {81, 81, 81}, .n_points = 1000000, .sign = 1},
                   .nufft = {.precision = PRECISION_DOUBLE, .tolerance = 1e-6}};
    for (int i = 1; i < argc; i++) {
        if (parse_flag(argv[i], o)) continue;
        TRY(parse_option(argv[i], i + 1 < argc ? argv[i + 1] : NULL, o));
        i++;
    }
    if (o->problem.dim > 3) FAIL(STATUS_USAGE, "--dim is %d, not 1, 2 or 3", o->problem.dim);
    if (o->type > 2) FAIL(STATUS_USAGE, "--type is %d, not 1 or 2", o->type);
    if (o->kind == BENCH_EWALD && o->problem.dim != 3)
        FAIL(STATUS_USAGE, "ewald points need --dim 3");
    for (int d = o->problem.dim; d < 3; d++)
        o->problem.modes[d] = 1;
    o->problem.real = o->nufft.real;
    o->nufft.batch = o->batch;
    return STATUS_OK;
}

/* What was measured; milliseconds: medians of set_points and exec, else means. cpu is the least
   processor time of an exec, of all threads together: on a busy machine the steadier figure. */
typedef struct timing {
    double plan, set_points, exec, cpu, spread, interpolate, fft, deconvolve, error;
    nufft_info info;
} timing;

/* Arrays in device memory. */
typedef struct arrays {
    void *x[3], *modes, *values;
} arrays;

static void free_arrays(const device *dev, arrays *a)
{
    for (int d = 0; d < 3; d++)
        device_free(dev, a->x[d]);
    device_free(dev, a->modes);
    device_free(dev, a->values);
}

/* `copies` copies of every stride-th of n * stride numbers, in the precision, to device memory. */
static status upload(const device *dev, const options *o, const double *from, int64_t n, int stride,
                     int copies, void **to)
{
    precision p = o->nufft.precision;
    int64_t size = (int64_t)real_size(p) * n;
    void *host = malloc((size_t)size + 1);
    if (!host) FAIL(STATUS_RESOURCE, "out of host memory");
    for (int64_t i = 0; i < n; i++) {
        if (p == PRECISION_SINGLE)
            ((float *)host)[i] = (float)from[i * stride];
        else
            ((double *)host)[i] = from[i * stride];
    }
    status result = device_alloc(dev, size * copies, to);
    for (int i = 0; i < copies && result == STATUS_OK; i++)
        result = device_from_host(dev, (char *)*to + i * size, host, size);
    free(host);
    return result;
}

static status make_arrays(const device *dev, const options *o, arrays *a)
{
    const bench_problem *b = &o->problem;
    int stride = b->real ? 2 : 1;
    for (int d = 0; d < b->dim; d++)
        TRY(upload(dev, o, b->x[d], b->n_points, 1, 1, &a->x[d]));
    TRY(upload(dev, o, b->f, 2 * b->n_modes, 1, o->batch, &a->modes));
    return upload(dev, o, b->c, 2 * b->n_points / stride, stride, o->batch, &a->values);
}

/* The last vector of the result as complex doubles. */
static status download(const device *dev, const options *o, const void *from, int64_t n, int stride,
                       double *to)
{
    precision p = o->nufft.precision;
    int64_t size = (int64_t)real_size(p) * n;
    void *host = malloc((size_t)size + 1);
    if (!host) FAIL(STATUS_RESOURCE, "out of host memory");
    status result = device_to_host(dev, host, (const char *)from + (o->batch - 1) * size, size);
    for (int64_t i = 0; i < n; i++)
        to[i * stride] =
            p == PRECISION_SINGLE ? (double)((const float *)host)[i] : ((const double *)host)[i];
    free(host);
    return result;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    return values[n / 2];
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static status execute(const options *o, nufft *plan, const arrays *a)
{
    return o->type == 1 ? nufft_adjoint(plan, a->values, a->modes)
                        : nufft_forward(plan, a->modes, a->values);
}

static status time_runs(const device *dev, const options *o, nufft *plan, const arrays *a,
                        timing *t)
{
    double set[64], exec[64];
    int n = o->repeat < 64 ? o->repeat : 64;
    const void *x[3] = {a->x[0], a->x[1], a->x[2]};
    for (int i = -1; i < n; i++) {
        double start = omp_get_wtime();
        TRY(nufft_set_points(plan, o->problem.n_points, x));
        TRY(device_synchronize(dev));
        if (i >= 0) set[i] = 1e3 * (omp_get_wtime() - start);
    }
    t->cpu = INFINITY;
    for (int i = -1; i < n; i++) {
        if (i == 0) nufft_time_stages(plan, true);
        double cpu = cpu_seconds();
        double start = omp_get_wtime();
        TRY(execute(o, plan, a));
        TRY(device_synchronize(dev));
        cpu = 1e3 * (cpu_seconds() - cpu);
        if (i >= 0) exec[i] = 1e3 * (omp_get_wtime() - start);
        if (i >= 0 && cpu < t->cpu) t->cpu = cpu;
    }
    nufft_times times;
    TRY(nufft_get_times(plan, &times));
    t->set_points = median(set, n);
    t->exec = median(exec, n);
    t->spread = 1e3 * times.spread / n;
    t->interpolate = 1e3 * times.interpolate / n;
    t->fft = 1e3 * times.fft / n;
    t->deconvolve = 1e3 * times.deconvolve / n;
    nufft_get_info(plan, &t->info);
    return STATUS_OK;
}

static status measure_error(const device *dev, const options *o, const arrays *a, timing *t)
{
    const bench_problem *b = &o->problem;
    int64_t n = o->type == 1 ? b->n_modes : b->n_points;
    int stride = o->type == 2 && b->real ? 2 : 1;
    double *result = calloc((size_t)(2 * n + 1), sizeof *result);
    if (!result) FAIL(STATUS_RESOURCE, "out of host memory");
    status done =
        download(dev, o, o->type == 1 ? a->modes : a->values, 2 * n / stride, stride, result);
    if (done == STATUS_OK) t->error = bench_error(b, o->type, result, o->outputs);
    free(result);
    return done;
}

static status run(const device *dev, const options *o, timing *t)
{
    status result = STATUS_OK;
    arrays a = {{NULL, NULL, NULL}, NULL, NULL};
    nufft *plan = NULL;
    TRY_OR(done, make_arrays(dev, o, &a));
    double start = omp_get_wtime();
    TRY_OR(done, nufft_create(dev, o->problem.dim, o->problem.modes, &o->nufft, &plan));
    t->plan = 1e3 * (omp_get_wtime() - start);
    TRY_OR(done, time_runs(dev, o, plan, &a, t));
    TRY_OR(done, measure_error(dev, o, &a, t));
done:
    nufft_destroy(plan);
    free_arrays(dev, &a);
    return result;
}

static void print(const device *dev, const options *o, const timing *t)
{
    static const char *const kinds[] = {"rand", "cluster", "ewald"};
    const bench_problem *b = &o->problem;
    int threads = device_kind_of(dev) == DEVICE_CPU ? device_threads(dev) : 1;
    double per_point = 1e6 * t->exec / ((double)b->n_points * o->batch);
    const char *format =
        o->json
            ? "{\"dim\": %d, \"type\": %d, \"precision\": \"%s\", \"path\": \"%s\", "
              "\"modes\": [%lld, %lld, %lld], \"points\": %lld, \"points_from\": \"%s\", "
              "\"batch\": %d, \"device\": \"%s\", \"threads\": %d, \"tolerance\": %g, "
              "\"width\": %d, \"upsampling\": %g, \"fine\": [%lld, %lld, %lld], "
              "\"plan_ms\": %.4g, \"set_points_ms\": %.4g, \"exec_ms\": %.5g, \"exec_cpu_ms\": %.5g, "
              "\"ns_per_point\": %.4g, \"spread_ms\": %.4g, \"interpolate_ms\": %.4g, "
              "\"fft_ms\": %.4g, \"deconvolve_ms\": %.4g, \"memory_mb\": %.4g, "
              "\"expected\": %.3g, \"error\": %.3g, \"outputs\": %d, "
              "\"triad_gb_per_s\": %.4g, \"fma_gflop_per_s\": %.4g}\n"
            : "%dD type %d, %s, %s\nmodes %lld x %lld x %lld, %lld points (%s), batch %d\n"
              "on %s, %d threads\ntolerance %g: width %d, upsampling %g, "
              "fine grid %lld x %lld x %lld\n"
              "plan        %10.4g ms\nset_points  %10.4g ms\nexec        %10.5g ms (%.5g ms of processor time)"
              " = %.4g ns per point\n  spread      %8.4g ms\n  interpolate %8.4g ms\n"
              "  fft         %8.4g ms\n  deconvolve  %8.4g ms\nmemory      %10.4g MB\n"
              "error       expected %.3g, measured %.3g over %d outputs\n"
              "machine     %.4g GB/s triad, %.4g GFLOP/s multiply-add (double)\n";
    printf(format, b->dim, o->type, o->nufft.precision == PRECISION_SINGLE ? "single" : "double",
           b->real ? "real" : "complex", (long long)b->modes[0], (long long)b->modes[1],
           (long long)b->modes[2], (long long)b->n_points, kinds[o->kind], o->batch,
           device_kind_of(dev) == DEVICE_CPU ? "CPU" : "GPU", threads, o->nufft.tolerance,
           t->info.width, t->info.upsampling, (long long)t->info.fine[0],
           (long long)t->info.fine[1], (long long)t->info.fine[2], t->plan, t->set_points, t->exec,
           t->cpu, per_point, t->spread, t->interpolate, t->fft, t->deconvolve,
           (double)t->info.bytes * 1e-6, t->info.expected, t->error, o->outputs,
           bench_bandwidth(threads), bench_multiply_adds(threads));
}

status bench_nufft(int argc, char **argv)
{
    status result = STATUS_OK;
    options o;
    timing t = {0};
    device *dev = NULL;
    TRY(parse(argc, argv, &o));
    if (o.help) {
        fputs(HELP, stdout);
        return STATUS_OK;
    }
    TRY(o.gpu ? device_create_cuda(-1, &dev) : device_create_cpu(o.threads, &dev));
    TRY_OR(done, bench_problem_make(o.kind, o.nufft.precision, &o.problem));
    TRY_OR(done, run(dev, &o, &t));
    print(dev, &o, &t);
done:
    bench_problem_free(&o.problem);
    device_destroy(dev);
    return result;
}
