#include "scaling_model.h"

#include <math.h>

/* What the constants of a stage are multiplied by. */
static stage_line terms_of(const scaling_model *m, stage s, int ranks, int gpus)
{
    const double n = ranks, starts = (double)m->starts, users = gpus > 0 ? ceil(n / gpus) : 1;
    if (s == STAGE_EXCHANGE) return (stage_line){log2(n), 2 * (n - 1) / n};
    if (s == STAGE_SOLVE) return (stage_line){1, 0};
    if (!m->strong) return (stage_line){users, 0};
    const double share = s == STAGE_PHASE ? ceil(starts / n) / starts : 1 / n;
    return (stage_line){users, users * share};
}

static stage_line fit_stage(const scaling_model *m, stage s, int n, const scaling_row rows[])
{
    stage_line terms[SCALING_MAX_ROWS];
    double seconds[SCALING_MAX_ROWS];
    int used = 0;
    for (int i = 0; i < n; i++) {
        if (rows[i].ranks > SCALING_FITTED) continue;
        if (s == STAGE_EXCHANGE && rows[i].ranks == 1) continue; /* there is none */
        terms[used] = terms_of(m, s, rows[i].ranks, rows[i].gpus);
        seconds[used++] = rows[i].stages[s];
    }
    return stage_line_fit(used, terms, seconds);
}

status scaling_model_fit(int n, const scaling_row rows[], bool strong, int64_t starts,
                         scaling_model *fitted)
{
    int used = 0;
    for (int i = 0; i < n; i++)
        used += rows[i].ranks <= SCALING_FITTED;
    if (used < 2)
        FAIL(STATUS_INPUT, "a forecast needs two rows or more of up to %d ranks, there is %d",
             SCALING_FITTED, used);
    *fitted = (scaling_model){.strong = strong, .starts = starts};
    for (int s = 0; s < N_STAGES; s++)
        fitted->stages[s] = fit_stage(fitted, (stage)s, n, rows);
    return STATUS_OK;
}

static double total_of(const scaling_model *m, int ranks, int gpus, double stages[])
{
    double total = 0;
    for (int s = 0; s < N_STAGES; s++) {
        stages[s] = stage_line_seconds(m->stages[s], terms_of(m, (stage)s, ranks, gpus));
        total += stages[s];
    }
    return total;
}

scaling_row scaling_model_row(const scaling_model *m, int ranks, int gpus)
{
    scaling_row row = {.ranks = ranks, .gpus = gpus}, alone;
    row.total = total_of(m, ranks, gpus, row.stages);
    alone.total = total_of(m, 1, gpus > 0, alone.stages);
    row.efficiency = alone.total / (row.total * (m->strong ? ranks : 1));
    return row;
}
