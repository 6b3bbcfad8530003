#include "bench_nufft_row.h"

#include <math.h>
#include <string.h>

static void add_text(bench_row *row, const char *name, const char *text)
{
    row->field[row->n].name = name;
    row->field[row->n].is_number = false;
    snprintf(row->field[row->n].text, sizeof row->field[0].text, "%s", text);
    row->n++;
}

static void add_integer(bench_row *row, const char *name, int64_t number)
{
    add_text(row, name, "");
    snprintf(row->field[row->n - 1].text, sizeof row->field[0].text, "%lld", (long long)number);
    row->field[row->n - 1].is_number = true;
}

/* NaN and infinity are no numbers of JSON: they stay text, there to be seen. */
static void add_number(bench_row *row, const char *name, double number)
{
    add_text(row, name, "");
    snprintf(row->field[row->n - 1].text, sizeof row->field[0].text, "%.5g", number);
    row->field[row->n - 1].is_number = isfinite(number);
}

/* A figure that may not be there. */
static void add_figure(bench_row *row, const char *name, double number)
{
    if (number == 0) {
        add_text(row, name, "");
        row->field[row->n - 1].is_number = true;
    } else {
        add_number(row, name, number);
    }
}

static void add_verdict(bench_row *row, const char *name, bool asked, bool met)
{
    add_text(row, name, !asked ? "" : met ? "met" : "missed");
}

static void add_problem(const bench_case *c, bench_row *row)
{
    const bench_problem *p = &c->problem;
    add_text(row, "case", c->name);
    add_integer(row, "type", c->type);
    add_integer(row, "dim", p->dim);
    add_text(row, "precision", p->precision == PRECISION_SINGLE ? "single" : "double");
    add_text(row, "path", p->real ? "real" : "complex");
    add_integer(row, "nx", p->modes[0]);
    add_integer(row, "ny", p->modes[1]);
    add_integer(row, "nz", p->modes[2]);
    add_integer(row, "points", p->n_points);
    add_text(row, "points_from", bench_points_name(p->points));
    add_integer(row, "batch", p->batch);
    add_integer(row, "sign", p->sign);
    add_number(row, "tolerance", c->tolerance);
}

static void add_plan(const nufft_info *info, const device *dev, bench_row *row)
{
    bool cpu = device_kind_of(dev) == DEVICE_CPU;
    double points = info->n_points ? (double)info->n_points : 1;
    add_text(row, "device", cpu ? "cpu" : "cuda");
    add_integer(row, "threads", cpu ? device_threads(dev) : 1);
    add_text(row, "method", nufft_method_name(info->method));
    add_integer(row, "width", info->width);
    add_number(row, "upsampling", info->upsampling);
    add_integer(row, "fine_x", info->fine[0]);
    add_integer(row, "fine_y", info->fine[1]);
    add_integer(row, "fine_z", info->fine[2]);
    add_number(row, "plan_mb", 1e-6 * (double)info->bytes);
    add_number(row, "bytes_per_point", (double)info->point_bytes / points);
}

static void add_times(const bench_case *c, const bench_result *r, bench_row *row)
{
    double vectors = (double)c->problem.n_points * c->problem.batch;
    double spread = r->stages.spread + r->stages.interpolate;
    add_number(row, "plan_ms", r->plan);
    add_number(row, "set_ms", r->set.median);
    add_number(row, "set_min_ms", r->set.least);
    add_number(row, "exec_ms", r->exec.median);
    add_number(row, "exec_min_ms", r->exec.least);
    add_number(row, "exec_cpu_ms", r->exec.processor);
    add_number(row, "total_ms", r->total.median);
    add_number(row, "total_min_ms", r->total.least);
    add_number(row, "copies_ms", r->copies.median);
    add_number(row, "copies_min_ms", r->copies.least);
    add_number(row, "ns_per_point", 1e6 * r->exec.median / (vectors > 0 ? vectors : 1));
    add_number(row, "spread_ms", spread);
    add_number(row, "fft_ms", r->stages.fft);
    add_number(row, "deconvolve_ms", r->stages.deconvolve);
    add_number(row, "spread_fraction", spread / (spread + r->stages.fft + r->stages.deconvolve));
}

double bench_judged_time(const bench_case *c, const bench_result *r)
{
    return c->judged == BENCH_SET      ? r->set.median
           : c->judged == BENCH_COPIES ? r->copies.median
                                       : r->exec.median;
}

void bench_row_make(const bench_case *c, const bench_result *r, const device *dev,
                    const bench_machine *machine, bool judged, bench_row *row)
{
    static const char *const what[] = {"exec_ms", "set_ms", "copies_ms"};
    const bench_goal *goal = &c->goal;
    double time = bench_judged_time(c, r);
    row->n = 0;
    add_problem(c, row);
    add_plan(&r->info, dev, row);
    add_times(c, r, row);
    add_number(row, "expected", r->info.expected);
    add_number(row, "error", r->error);
    add_integer(row, "outputs", r->outputs);
    add_verdict(row, "error_met", true, r->error <= c->tolerance);
    add_text(row, "judged", what[c->judged]);
    add_figure(row, "peer_ms", goal->peer);
    add_figure(row, "must_ms", goal->must);
    add_verdict(row, "must_met", judged && goal->must > 0, time <= goal->must);
    add_figure(row, "aim_ms", goal->aim);
    add_verdict(row, "aim_met", judged && goal->aim > 0, time <= goal->aim);
    add_figure(row, "paper_ms", goal->paper);
    add_figure(row, "triad_gb_per_s", machine->bandwidth);
    add_figure(row, "fma_gflop_per_s", machine->multiply_adds);
}

static void print_csv(FILE *out, int index, const bench_row *row)
{
    for (int i = 0; index <= 0 && i < row->n; i++)
        fprintf(out, "%s%s", row->field[i].name, i + 1 < row->n ? "," : "\n");
    for (int i = 0; i < row->n; i++)
        fprintf(out, "%s%s", row->field[i].text, i + 1 < row->n ? "," : "\n");
}

static void print_json(FILE *out, int index, const bench_row *row)
{
    if (index >= 0) fprintf(out, index == 0 ? "[\n" : ",\n");
    for (int i = 0; i < row->n; i++) {
        const char *text = row->field[i].text, *quote = row->field[i].is_number ? "" : "\"";
        if (!*text) text = "null", quote = "";
        fprintf(out, "%s\"%s\": %s%s%s", i ? ", " : "{", row->field[i].name, quote, text, quote);
    }
    fprintf(out, index < 0 ? "}\n" : "}");
}

static const char *find(const bench_row *row, const char *name)
{
    for (int i = 0; i < row->n; i++)
        if (strcmp(row->field[i].name, name) == 0) return row->field[i].text;
    return "";
}

static void print_table(FILE *out, int index, const bench_row *row)
{
    static const char *const columns[] = {
        "case",      "method",    "set_ms", "exec_ms",         "total_ms",
        "copies_ms", "spread_ms", "error",  "bytes_per_point", "peer_ms",
        "must_ms",   "must_met",  "aim_ms", "aim_met",         "paper_ms"};
    enum { N = sizeof columns / sizeof columns[0] };
    for (int i = 0; index == 0 && i < N; i++)
        fprintf(out, "| %s%s", columns[i], i + 1 < N ? " " : " |\n");
    for (int i = 0; index == 0 && i < N; i++)
        fprintf(out, i + 1 < N ? "|---" : "|---|\n");
    for (int i = 0; i < N; i++)
        fprintf(out, "| %s%s", find(row, columns[i]), i + 1 < N ? " " : " |\n");
}

static void print_lines(FILE *out, const bench_row *row)
{
    for (int i = 0; i < row->n; i++)
        if (*row->field[i].text) fprintf(out, "%-16s %s\n", row->field[i].name, row->field[i].text);
}

void bench_row_print(FILE *out, bench_format format, int index, const bench_row *row)
{
    if (format == BENCH_CSV)
        print_csv(out, index, row);
    else if (format == BENCH_JSON)
        print_json(out, index, row);
    else if (index < 0)
        print_lines(out, row);
    else
        print_table(out, index, row);
    (void)fflush(out);
}

void bench_rows_end(FILE *out, bench_format format)
{
    if (format == BENCH_JSON) fprintf(out, "\n]\n");
}
