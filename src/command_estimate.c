/* `mtip estimate`: the memory and the time of a run before it is submitted. */
#include <math.h>

#include "commands.h"
#include "estimate.h"
#include "interrupt.h"
#include "text.h"

static status read_number(const cli *c, const char *name, double least, double *value)
{
    const char *text = cli_option_text(c, name);
    if (!text) return STATUS_OK;
    if (text_double(text, value) != TEXT_NUMBER_OK || *value < least)
        FAIL(STATUS_USAGE, "%s is '%s'; write a number of at least %g", name, text, least);
    return STATUS_OK;
}

static status read_count(const cli *c, const char *name, int least, int *count)
{
    double value = *count;
    TRY(read_number(c, name, least, &value));
    if (value != floor(value) || value > 1e6)
        FAIL(STATUS_USAGE, "%s is %g; write a whole number up to 1000000", name, value);
    *count = (int)value;
    return STATUS_OK;
}

static status read_bytes(const cli *c, const char *name, int64_t *bytes)
{
    double gib = -1;
    TRY(read_number(c, name, 0, &gib));
    if (gib >= 0) *bytes = (int64_t)(0x1p30 * gib);
    return STATUS_OK;
}

static status read_place(const cli *c, estimate_place *place)
{
    int ranks = 1, gpus = -1;
    TRY(read_count(c, "--ranks", 1, &ranks));
    TRY(read_count(c, "--gpus", 0, &gpus));
    *place = estimate_here(&c->config, ranks, gpus);
    TRY(read_count(c, "--nodes", 1, &place->nodes));
    TRY(read_bytes(c, "--host-memory", &place->host_bytes));
    return read_bytes(c, "--gpu-memory", &place->gpu_bytes);
}

static void print_text(const estimate *e)
{
    const estimate_place *p = &e->place;
    char text[FORECAST_TEXT];
    printf("images          %lld of %lld pixels\n", (long long)e->n_images, (long long)e->n_pixels);
    printf("place           %d rank%s on %d node%s and %d GPU%s\n", p->ranks, text_plural(p->ranks),
           p->nodes, text_plural(p->nodes), p->gpus, text_plural(p->gpus));
    printf("memory, a rank  %s\n", forecast_text(&e->memory, text));
    if (isnan(e->seconds)) return;
    const double *t = e->stages;
    printf(
        "time            %.1f s (slice %.1f, match %.1f, merge %.1f, phase %.1f, other %.1f), the longest "
        "generation %.2f s\n",
        e->seconds, t[STAGE_SLICE], t[STAGE_MATCH], t[STAGE_MERGE] + t[STAGE_SOLVE], t[STAGE_PHASE],
        e->other_seconds, e->generation_seconds);
}

static void json_seconds(const char *name, double seconds)
{
    if (isnan(seconds))
        printf(", \"%s\": null", name);
    else
        printf(", \"%s\": %.6g", name, seconds);
}

static void print_json(const estimate *e)
{
    const estimate_place *p = &e->place;
    const forecast *f = &e->memory;
    printf("{\"ranks\": %d, \"nodes\": %d, \"gpus\": %d, \"images\": %lld, \"pixels\": %lld",
           p->ranks, p->nodes, p->gpus, (long long)e->n_images, (long long)e->n_pixels);
    printf(", \"host_bytes\": %lld, \"gpu_bytes\": %lld, \"images_bytes\": %lld, \"scores_bytes\": "
           "%lld, \"batches_bytes\": %lld, \"slicing_bytes\": %lld, \"merging_bytes\": %lld, "
           "\"phasing_bytes\": %lld",
           (long long)f->host, (long long)f->device, (long long)f->images, (long long)f->scores,
           (long long)f->batches, (long long)f->slicing, (long long)f->merging,
           (long long)f->phasing);
    for (int s = 0; s < N_STAGES && !isnan(e->seconds); s++)
        printf(", \"%s_seconds\": %.6g", stage_name((stage)s), e->stages[s]);
    json_seconds("other_seconds", e->other_seconds);
    json_seconds("generation_seconds", e->generation_seconds);
    json_seconds("seconds", e->seconds);
    printf("}\n");
}

static status print_and_check(const cli *c, comm *alone)
{
    estimate_place place;
    estimate e;
    double limit = INFINITY;
    const char *given = cli_option_text(c, "--time-limit");
    if (given) TRY(time_limit_parse("--time-limit", given, &limit));
    TRY(read_place(c, &place));
    TRY(estimate_make(&c->config, NULL, &place, &e));
    TRY(estimate_check(&e, INFINITY)); /* before time is spent on times */
    TRY(estimate_make(&c->config, alone, &place, &e));
    if (cli_option_given(c, "--json"))
        print_json(&e);
    else
        print_text(&e);
    return estimate_check(&e, limit);
}

status command_estimate(const cli *c, comm *world)
{
    comm *alone = NULL;
    (void)world;
    TRY(comm_start(NULL, NULL, &alone));
    const status result = print_and_check(c, alone);
    comm_finish(alone);
    return result;
}
