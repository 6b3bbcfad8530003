#include "stage_lines.h"

#include "stage_floor.h"

#include <math.h>

static double grid_transform(int64_t edge)
{
    const double n = (double)edge;
    return floor_transform(n * n * n);
}

void stage_terms(const config *cfg, const stage_load *load, stage_line terms[])
{
    const int64_t n = cfg->grid.size;
    const double window = floor_window(cfg->nufft.tolerance), pixels = (double)load->pixels;
    const double images = (double)load->images, references = (double)load->references;
    const double passes = (double)load->passes, starts = (double)load->starts;
    const double two = 2 * grid_transform(2 * n);
    terms[STAGE_SLICE] = (stage_line){passes * grid_transform(2 * n),
                                      2 * window * passes * (double)load->sliced * pixels};
    terms[STAGE_MATCH] = (stage_line){
        images * references, 2 * images * pixels * (passes * references + (double)load->active)};
    terms[STAGE_MERGE] =
        (stage_line){2 * grid_transform(4 * n), 4 * window * (double)load->merged * pixels};
    terms[STAGE_SOLVE] = (stage_line){two, two * (double)load->iterations};
    terms[STAGE_PHASE] = (stage_line){starts * grid_transform(n),
                                      2 * starts * (double)load->steps * grid_transform(n)};
    terms[STAGE_EXCHANGE] = (stage_line){0, 0};
}

/* Sums of weighted products. */
typedef struct normal {
    double ff, fg, gg, ft, gt;
} normal;

static stage_line solve(const normal *s)
{
    const double determinant = s->ff * s->gg - s->fg * s->fg;
    const stage_line fixed = {s->ff > 0 ? s->ft / s->ff : 0, 0},
                     growing = {0, s->gg > 0 ? s->gt / s->gg : 0};
    if (!(determinant > 1e-9 * s->ff * s->gg)) return s->gg > 0 ? growing : fixed;
    const stage_line both = {(s->ft * s->gg - s->gt * s->fg) / determinant,
                             (s->gt * s->ff - s->ft * s->fg) / determinant};
    if (both.fixed < 0) return growing;
    return both.growing < 0 ? fixed : both;
}

stage_line stage_line_fit(int n, const stage_line terms[], const double seconds[])
{
    normal sums = {0, 0, 0, 0, 0};
    for (int i = 0; i < n; i++) {
        if (!(seconds[i] > 0)) continue;
        const double f = terms[i].fixed / seconds[i], g = terms[i].growing / seconds[i];
        sums.ff += f * f;
        sums.fg += f * g;
        sums.gg += g * g;
        sums.ft += f;
        sums.gt += g;
    }
    return solve(&sums);
}
