#include "nufft/fft_impl.h"

#include <stdlib.h>

struct fft {
    const fft_table *table;
    void *state;
};

static status check(const fft_problem *p)
{
    if (p->dim < 1 || p->dim > 3) FAIL(STATUS_INVALID, "dim is %d, not 1, 2 or 3", p->dim);
    double total = (double)p->batch;
    for (int d = 0; d < p->dim; d++) {
        if (p->size[d] < 1) FAIL(STATUS_INVALID, "size[%d] is %lld", d, (long long)p->size[d]);
        if (p->size[d] > INT32_MAX)
            FAIL(STATUS_INVALID, "size[%d] is %lld, above 2^31-1", d, (long long)p->size[d]);
        total *= (double)p->size[d];
    }
    if (p->batch < 1) FAIL(STATUS_INVALID, "batch is %lld", (long long)p->batch);
    if (total > 0x1p58) FAIL(STATUS_RESOURCE, "a transform of %.3g numbers is too large", total);
    if (p->in_place && (p->kind == FFT_REAL_FORWARD || p->kind == FFT_REAL_BACKWARD))
        FAIL(STATUS_INVALID, "real transforms are out of place only");
    return STATUS_OK;
}

static status create(const device *dev, const fft_problem *problem, fft **plan)
{
    *plan = NULL;
    TRY(check(problem));
    fft *made = calloc(1, sizeof *made);
    if (!made) FAIL(STATUS_RESOURCE, "out of host memory");
    made->table = device_kind_of(dev) == DEVICE_CPU ? &fft_table_cpu : &fft_table_cuda;
    status result = made->table->create(dev, problem, &made->state);
    if (result != STATUS_OK) {
        fft_destroy(made);
        return result;
    }
    *plan = made;
    return STATUS_OK;
}

status fft_create(const device *dev, precision p, fft_kind kind, int dim, const int64_t size[],
                  int64_t batch, bool in_place, fft **plan)
{
    fft_problem problem = {p, kind, dim, {1, 1, 1}, batch, in_place, 0, false};
    for (int d = 0; d < dim && d < 3; d++)
        problem.size[d] = size[d];
    return create(dev, &problem, plan);
}

status fft_create_central(const device *dev, precision p, fft_kind kind, const int64_t size[3],
                          int64_t batch, int64_t modes, bool of_input, fft **plan)
{
    const fft_problem problem = {p,     kind, 3,     {size[0], size[1], size[2]},
                                 batch, true, modes, of_input};
    if (modes < 1 || modes >= size[2])
        FAIL(STATUS_INVALID, "%lld of %lld planes matter", (long long)modes, (long long)size[2]);
    return create(dev, &problem, plan);
}

status fft_run(const fft *plan, void *in, void *out)
{
    return plan->table->run(plan->state, in, out);
}

int64_t fft_bytes(const fft *plan)
{
    return plan->table->bytes(plan->state);
}

void fft_destroy(fft *plan)
{
    if (!plan) return;
    plan->table->destroy(plan->state);
    free(plan);
}

static bool is_smooth(int64_t n)
{
    static const int primes[] = {2, 3, 5, 7};
    for (int i = 0; i < 4; i++)
        while (n % primes[i] == 0)
            n /= primes[i];
    return n == 1;
}

int64_t fft_good_size(int64_t n, bool even)
{
    if (n < 1) n = 1;
    if (even && n % 2) n++;
    while (!is_smooth(n))
        n += even ? 2 : 1;
    return n;
}
