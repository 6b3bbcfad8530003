#include "bench_nufft.h"

#include <string.h>

#include "bench_machine.h"
#include "bench_nufft_options.h"

typedef struct bench {
    const bench_options *o;
    const device *dev;
    bench_session *session;
    bench_machine machine;
    bench_format format;
    FILE *out;
} bench;

/* index: of the line printed, -1 for the only one. */
static status run_case(const bench *b, int index, const bench_case *c, bench_result *r)
{
    bench_row row;
    bool judged = device_kind_of(b->dev) == DEVICE_CUDA && b->o->scale == 1;
    TRY(bench_run(b->session, c, r));
    bench_row_make(c, r, b->dev, &b->machine, judged, &row);
    bench_row_print(b->out, b->format, index, &row);
    return STATUS_OK;
}

static status make_list(const bench_options *o, bench_list *list)
{
    if (o->suite) TRY(bench_suite(list));
    if (o->table2) TRY(bench_table2(list));
    if (o->study) TRY(bench_study(list));
    for (int i = 0; i < list->n; i++)
        if (o->scale != 1) bench_case_scale(&list->cases[i], o->scale);
    return STATUS_OK;
}

/* Methods other than the default run where they are there and the default is another. */
static status run_list(const bench *b, bench_list *list)
{
    int n = 0;
    nufft_method taken = NUFFT_DEFAULT;
    for (int i = 0; i < list->n; i++) {
        bench_case *c = &list->cases[i];
        bench_result r;
        bool wanted = true;
        if (b->o->only && !strstr(c->name, b->o->only)) continue;
        if (c->method) TRY(bench_method_differs(b->dev, c, taken, &wanted));
        if (!wanted) continue;
        if (c->beside) c->goal.must = 1.5 * list->cases[c->beside - 1].taken;
        status result = run_case(b, n++, c, &r);
        if (result != STATUS_OK) return status_prefix(result, "%s", c->name);
        c->taken = bench_judged_time(c, &r);
        if (!c->method) taken = r.info.method;
    }
    if (n == 0)
        FAIL(STATUS_USAGE, "--only is '%s'; no case of the list has it in its name", b->o->only);
    bench_rows_end(b->out, b->format);
    return STATUS_OK;
}

static status run(const bench *b)
{
    const bench_options *o = b->o;
    bench_list list = {.n = 0};
    bench_result r;
    if (!o->suite && !o->table2 && !o->study) {
        status result = run_case(b, -1, &o->one, &r);
        return result == STATUS_INVALID ? STATUS_USAGE : result; /* an option's */
    }
    status result = make_list(o, &list);
    if (result == STATUS_OK) result = run_list(b, &list);
    bench_list_free(&list);
    return result;
}

status bench_nufft(int n, char **arguments, FILE *out)
{
    status result = STATUS_OK;
    bench_options o;
    device *dev = NULL;
    TRY(bench_options_parse(n, arguments, &o));
    if (o.help) {
        bench_options_help(out);
        return STATUS_OK;
    }
    bench b = {.o = &o, .format = o.csv ? BENCH_CSV : o.json ? BENCH_JSON : BENCH_TEXT, .out = out};
    if (o.device == DEVICE_CPU) {
        TRY(device_create_cpu(o.threads, &dev));
        b.machine.bandwidth = bench_bandwidth(device_threads(dev));
        b.machine.multiply_adds = bench_multiply_adds(device_threads(dev));
    } else {
        TRY(device_create_cuda(-1, &dev));
    }
    b.dev = dev;
    TRY_OR(done, bench_session_create(dev, o.outputs, o.repeat, &b.session));
    TRY_OR(done, run(&b));
done:
    bench_session_destroy(b.session);
    device_destroy(dev);
    return result;
}
