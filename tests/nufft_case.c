#include "nufft_case.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double PI = 3.14159265358979323846;

double random_number(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u); /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-52 - 1;
}

static void must(status result)
{
    if (result != STATUS_OK) fail_msg("%s (%s)", status_message(), status_place());
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes + 1);
    assert_non_null(memory);
    return memory;
}

static double rounded(double x, precision p)
{
    return p == PRECISION_SINGLE ? (double)(float)x : x;
}

/* The numbers around +-pi that the precision has. */
static double edge(int64_t j, precision p)
{
    double at = rounded(PI, p);
    bool single = p == PRECISION_SINGLE;
    double below = single ? (double)nextafterf((float)at, 0) : nextafter(at, 0);
    double above = single ? (double)nextafterf((float)at, 10) : nextafter(at, 10);
    const double edges[] = {at, -at, below, -below, above, -above, 0, 2 * at, -2 * at, 3 * below};
    return edges[j % 10];
}

/* Point j on a curved slice in a random orientation fixed by j / 64. */
static void ewald_point(int64_t j, double q[3])
{
    uint64_t seed = (uint64_t)(j / 64) * 7919 + 1;
    double a[3], b[3], c[3], u = (double)(j % 8) / 3.5 - 1, v = (double)(j / 8 % 8) / 3.5 - 1;
    for (int d = 0; d < 3; d++) {
        a[d] = random_number(&seed);
        b[d] = random_number(&seed);
    }
    double aa = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
    double ab = (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) / aa;
    for (int d = 0; d < 3; d++)
        b[d] -= ab * a[d];
    double bb = b[0] * b[0] + b[1] * b[1] + b[2] * b[2];
    for (int d = 0; d < 3; d++) {
        a[d] /= sqrt(aa);
        b[d] /= sqrt(bb);
    }
    for (int d = 0; d < 3; d++)
        c[d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
    double scale = PI / sqrt(2.2), curve = (u * u + v * v) * scale / 6;
    for (int d = 0; d < 3; d++)
        q[d] = scale * (u * a[d] + v * b[d]) + curve * c[d];
}

static double make_coordinate(const nufft_case *c, int d, int64_t j, uint64_t *seed)
{
    double r = random_number(seed), q[3], cell = PI / (double)c->modes[d];
    switch (c->points) {
    case POINTS_CELL:
        return 1.1 + cell * 0.4 * r;
    case POINTS_EWALD:
        ewald_point(j, q);
        return q[d];
    case POINTS_ON_GRID:
        return cell * floor(r * (double)c->modes[d]);
    case POINTS_EDGES:
        return edge(j + (d ? (int64_t)(5 + 5 * r) : 0), c->options.precision);
    case POINTS_FAR:
        return r * pow(10, 6 * fabs(random_number(seed)));
    case POINTS_EQUAL:
        return -2.2 + d;
    case POINTS_RANDOM:
    case POINTS_KINDS:
        break;
    }
    return PI * r;
}

void case_data_make(const nufft_case *c, uint64_t seed, case_data *d)
{
    precision p = c->options.precision;
    *d = (case_data){1, c->n_points, c->options.batch ? c->options.batch : 1, {NULL}, NULL, NULL};
    for (int i = 0; i < c->dim; i++)
        d->n_modes *= c->modes[i];
    for (int i = 0; i < c->dim; i++) {
        d->x[i] = allocate(sizeof(double) * (size_t)c->n_points);
        for (int64_t j = 0; j < c->n_points; j++)
            d->x[i][j] = rounded(make_coordinate(c, i, j, &seed), p);
    }
    int64_t n = 2 * d->n_modes * d->batch;
    d->modes = allocate(sizeof(double) * (size_t)n);
    for (int64_t i = 0; i < n; i++)
        d->modes[i] = rounded(random_number(&seed), p);
    n = 2 * d->n_points * d->batch;
    d->values = allocate(sizeof(double) * (size_t)n);
    for (int64_t i = 0; i < n; i++)
        d->values[i] = c->options.real && i % 2 ? 0 : rounded(random_number(&seed), p);
}

void case_data_free(case_data *d)
{
    for (int i = 0; i < 3; i++)
        free(d->x[i]);
    free(d->modes);
    free(d->values);
}

/* Copies every `stride`-th number to device memory in the precision. */
static void *to_device(const device *dev, precision p, const double *from, int64_t n, int stride)
{
    size_t bytes = real_size(p) * (size_t)n;
    void *host = allocate(bytes), *memory;
    for (int64_t i = 0; i < n; i++) {
        if (p == PRECISION_SINGLE)
            ((float *)host)[i] = (float)from[i * stride];
        else
            ((double *)host)[i] = from[i * stride];
    }
    must(device_alloc(dev, (int64_t)bytes, &memory));
    must(device_from_host(dev, memory, host, (int64_t)bytes));
    free(host);
    return memory;
}

static void *poisoned(const device *dev, precision p, int64_t n)
{
    double *nan = allocate(sizeof(double) * (size_t)n);
    for (int64_t i = 0; i < n; i++)
        nan[i] = NAN;
    void *memory = to_device(dev, p, nan, n, 1);
    free(nan);
    return memory;
}

/* The inverse of to_device; zeros in between. Frees the device memory. */
static double *from_device(const device *dev, precision p, void *memory, int64_t n, int stride)
{
    size_t bytes = real_size(p) * (size_t)n;
    void *host = allocate(bytes);
    double *to = allocate(sizeof(double) * (size_t)(n * stride));
    memset(to, 0, sizeof(double) * (size_t)(n * stride));
    must(device_to_host(dev, host, memory, (int64_t)bytes));
    for (int64_t i = 0; i < n; i++)
        to[i * stride] = p == PRECISION_SINGLE ? (double)((float *)host)[i] : ((double *)host)[i];
    free(host);
    device_free(dev, memory);
    return to;
}

static nufft_method used_method;
static int n_unfit;

int case_use_method(nufft_method method)
{
    int n = n_unfit;
    used_method = method;
    n_unfit = 0;
    return n;
}

nufft *case_plan(const device *dev, const nufft_case *c)
{
    nufft *plan;
    nufft_options o = c->options;
    if (o.method == NUFFT_DEFAULT) o.method = used_method;
    status result = nufft_create(dev, c->dim, c->modes, &o, &plan);
    if (result == STATUS_UNSUPPORTED && o.method != c->options.method) {
#pragma omp atomic
        n_unfit++;
        result = nufft_create(dev, c->dim, c->modes, &c->options, &plan);
    }
    must(result);
    return plan;
}

void case_set_points(const device *dev, const nufft_case *c, const case_data *d, nufft *plan)
{
    void *x[3] = {NULL, NULL, NULL};
    const void *given[3];
    for (int i = 0; i < c->dim; i++)
        x[i] = to_device(dev, c->options.precision, d->x[i], d->n_points, 1);
    for (int i = 0; i < 3; i++)
        given[i] = x[i];
    must(nufft_set_points(plan, d->n_points, given));
    must(device_synchronize(dev));
    for (int i = 0; i < c->dim; i++)
        device_free(dev, x[i]);
}

double *case_forward(const device *dev, const nufft_case *c, const case_data *d, nufft *plan)
{
    precision p = c->options.precision;
    int stride = c->options.real ? 2 : 1;
    int64_t n = (c->options.real ? 1 : 2) * d->n_points * d->batch;
    void *modes = to_device(dev, p, d->modes, 2 * d->n_modes * d->batch, 1);
    void *values = poisoned(dev, p, n);
    must(nufft_forward(plan, modes, values));
    double *result = from_device(dev, p, values, n, stride);
    device_free(dev, modes);
    return result;
}

double *case_adjoint(const device *dev, const nufft_case *c, const case_data *d, nufft *plan)
{
    precision p = c->options.precision;
    int stride = c->options.real ? 2 : 1;
    int64_t n = (c->options.real ? 1 : 2) * d->n_points * d->batch;
    void *values = to_device(dev, p, d->values, n, stride);
    void *modes = poisoned(dev, p, 2 * d->n_modes * d->batch);
    must(nufft_adjoint(plan, values, modes));
    double *result = from_device(dev, p, modes, 2 * d->n_modes * d->batch, 1);
    device_free(dev, values);
    return result;
}

double relative_error(const double *a, const double *b, int64_t n_complex, double least)
{
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < 2 * n_complex; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return difference == 0 ? 0 : sqrt(difference) / fmax(sqrt(norm), least);
}

/* The norm of the sums of n_in inputs of this norm with random phases, if it may be missed. */
static double least_norm(const nufft_case *c, const double *in, int64_t n_in, int64_t n_out)
{
    bool together = c->points != POINTS_RANDOM && c->points != POINTS_EWALD;
    if (n_out >= 30 && !together) return 0;
    double sum = 0;
    for (int64_t i = 0; i < 2 * n_in; i++)
        sum += in[i] * in[i];
    return sqrt(sum * (double)n_out);
}

/* Re sum conj(a) b, and on the complex path the imaginary part too. */
static void inner(const double *a, const double *b, int64_t n, double sum[2])
{
    sum[0] = sum[1] = 0;
    for (int64_t i = 0; i < n; i++) {
        sum[0] += a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
        sum[1] += a[2 * i] * b[2 * i + 1] - a[2 * i + 1] * b[2 * i];
    }
}

static double adjointness(const nufft_case *c, const case_data *d, const double *forward,
                          const double *adjoint)
{
    double left[2], right[2], a[2], b[2];
    int64_t n = d->n_points * d->batch;
    inner(d->values, forward, n, left);
    inner(adjoint, d->modes, d->n_modes * d->batch, right);
    inner(forward, forward, n, a);
    inner(d->values, d->values, n, b);
    double off = hypot(left[0] - right[0], c->options.real ? 0 : left[1] - right[1]);
    return n ? off / sqrt(a[0] * b[0]) : off;
}

static void exact_forward(const nufft_case *c, const case_data *d, double *result)
{
    const double *x[3] = {d->x[0], d->x[1], d->x[2]};
    for (int64_t v = 0; v < d->batch; v++)
        nufft_direct_forward(c->dim, c->modes, c->options.sign, d->n_points, x,
                             d->modes + 2 * v * d->n_modes, result + 2 * v * d->n_points);
    for (int64_t i = 0; c->options.real && i < d->n_points * d->batch; i++)
        result[2 * i + 1] = 0;
}

static void exact_adjoint(const nufft_case *c, const case_data *d, double *result)
{
    const double *x[3] = {d->x[0], d->x[1], d->x[2]};
    for (int64_t v = 0; v < d->batch; v++)
        nufft_direct_adjoint(c->dim, c->modes, c->options.sign, d->n_points, x,
                             d->values + 2 * v * d->n_points, result + 2 * v * d->n_modes);
}

case_errors case_run(const device *dev, const nufft_case *c)
{
    case_data d;
    case_data_make(c, 1234, &d);
    nufft *plan = case_plan(dev, c);
    case_set_points(dev, c, &d, plan);
    double *forward = case_forward(dev, c, &d, plan), *adjoint = case_adjoint(dev, c, &d, plan);
    nufft_destroy(plan);
    int64_t n_values = d.n_points * d.batch, n_modes = d.n_modes * d.batch;
    double *values = allocate(2 * sizeof(double) * (size_t)n_values);
    double *modes = allocate(2 * sizeof(double) * (size_t)n_modes);
    exact_forward(c, &d, values);
    exact_adjoint(c, &d, modes);
    double least_values = least_norm(c, d.modes, n_modes, d.n_points);
    double least_modes = least_norm(c, d.values, n_values, d.n_modes);
    case_errors e = {relative_error(forward, values, n_values, least_values),
                     relative_error(adjoint, modes, n_modes, least_modes),
                     adjointness(c, &d, forward, adjoint)};
    free(forward);
    free(adjoint);
    free(values);
    free(modes);
    case_data_free(&d);
    return e;
}

void case_check(const device *dev, const nufft_case *c, double bound)
{
    case_errors e = case_run(dev, c);
    if (e.forward <= bound && e.adjoint <= bound) return;
    const nufft_options *o = &c->options;
    fail_msg("%s %s %dD modes %lldx%lldx%lld points %lld of kind %d tolerance %g upsampling %g "
             "sign %d batch %d: forward %.3g, adjoint %.3g, bound %.3g",
             o->precision == PRECISION_SINGLE ? "single" : "double", o->real ? "real" : "complex",
             c->dim, (long long)c->modes[0], (long long)c->modes[1], (long long)c->modes[2],
             (long long)c->n_points, (int)c->points, o->tolerance, o->upsampling, o->sign, o->batch,
             e.forward, e.adjoint, bound);
}
