#include "kernel_pairs.h"

pair_setup test;

void must(status result)
{
    if (result == STATUS_OK) return;
    print_error("%s: %s\n", status_place(), status_message());
    fail();
}

static int64_t bytes_of(const pair *p)
{
    return p->n * (int64_t)(p->kind == REALS ? real_size(test.precision) : sizeof(double));
}

double either(double single, double wide)
{
    return test.precision == PRECISION_SINGLE ? single : wide;
}

pair new_pair(content kind, int64_t n, const void *values)
{
    pair p = {kind, n, {NULL, NULL}};
    BOTH(device_alloc(dev, bytes_of(&p), &p.on[d]))
    BOTH(device_from_host(dev, p.on[d], values, bytes_of(&p)))
    return p;
}

pair reals(int64_t n, uint64_t seed, double low, double high)
{
    double *values = uniform(n, seed, low, high);
    pair p = zeros(REALS, n);
    BOTH(device_from_doubles(dev, test.precision, n, values, p.on[d]))
    free(values);
    return p;
}

pair zeros(content kind, int64_t n)
{
    void *values = calloc((size_t)n + 1, sizeof(double));
    assert_non_null(values);
    pair p = new_pair(kind, n, values);
    free(values);
    return p;
}

pair same(int64_t n, double value)
{
    double *values = uniform(n, 1, 0, 1);
    for (int64_t i = 0; i < n; i++)
        values[i] = value;
    pair p = new_pair(DOUBLES, n, values);
    free(values);
    return p;
}

void free_pairs(pair *first, int n)
{
    for (int i = 0; i < n; i++)
        for (int d = CPU; d <= GPU; d++)
            device_free(test.dev[d], first[i].on[d]);
}

double *download(const pair *p, int d)
{
    double *values = malloc((size_t)(p->n + 1) * sizeof *values);
    assert_non_null(values);
    const precision kind = p->kind == REALS ? test.precision : PRECISION_DOUBLE;
    must(device_to_doubles(test.dev[d], kind, p->n, p->on[d], values));
    for (int64_t i = 0; i < p->n && p->kind == INTEGERS; i++) {
        int64_t whole;
        memcpy(&whole, values + i, sizeof whole);
        values[i] = (double)whole;
    }
    return values;
}

void check_values(int64_t n, const double *cpu, const double *gpu, double tolerance, int line)
{
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < n; i++) {
        difference += (gpu[i] - cpu[i]) * (gpu[i] - cpu[i]);
        norm += cpu[i] * cpu[i];
    }
    const double is = sqrt(difference / norm);
    if (is <= tolerance && norm > 0) return;
    print_error("line %d: the GPU is %g away from the CPU (norm %g), allowed is %g\n", line, is,
                sqrt(norm), tolerance);
    fail();
}

void check_pair(const pair *p, double tolerance, int line)
{
    double *cpu = download(p, CPU), *gpu = download(p, GPU);
    check_values(p->n, cpu, gpu, tolerance, line);
    free(cpu);
    free(gpu);
}
