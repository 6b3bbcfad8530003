/* run_phase.c: the phasing of a run: starts dealt to ranks, one density from all of them. */
#include "run_check.h"
#include "run_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

phase_options run_phase_options(const run *r, int64_t starts)
{
    const config *cfg = r->cfg;
    return (phase_options){.precision = r->precision,
                           .size = r->size,
                           .starts = starts,
                           .radius = cfg->grid.diameter / 2 / r->voxel,
                           .step = cfg->phase.method == CONFIG_PHASING_HIO ? PHASE_HIO : PHASE_RAAR,
                           .n_er = (int)cfg->phase.er,
                           .n_hio = (int)cfg->phase.hio,
                           .beta = cfg->phase.beta,
                           .blur = cfg->phase.shrinkwrap_sigma,
                           .threshold = cfg->phase.shrinkwrap_threshold};
}

double run_k_min(const run *r)
{
    return r->catalogue->radius[0] / r->s_max * (double)r->size / 2 - 0.5;
}

static status reserve_phaser(run *r, int64_t starts)
{
    const phase_options options = run_phase_options(r, starts);
    if (r->phaser && r->phaser_starts == starts) return STATUS_OK;
    phaser_destroy(r->phaser);
    r->phaser_starts = starts;
    return phaser_create(r->dev, &options, &r->phaser);
}

/* Room for all densities, and on rank 0 what averages them. */
static status reserve_densities(run *r, int64_t starts)
{
    void *memory;
    if (r->n_densities == starts) return STATUS_OK;
    device_free(r->dev, r->densities);
    averager_destroy(r->averager);
    r->densities = NULL;
    r->averager = NULL;
    r->n_densities = 0;
    TRY(device_alloc(r->dev, starts * volume(r) * (int64_t)sizeof *r->densities, &memory));
    r->densities = memory;
    if (comm_rank(r->comm) == 0) TRY(averager_create(r->dev, r->size, starts, &r->averager));
    r->n_densities = starts;
    return STATUS_OK;
}

/* This rank's starts, numbers first .. first+count-1, into densities and r_factors at those places. */
static status phase_mine(run *r, int64_t first, int64_t count, int loops, uint64_t round,
                         bool again, double *r_factors)
{
    if (count == 0) return STATUS_OK;
    TRY(reserve_phaser(r, count));
    TRY(phaser_set_target(r->phaser, r->merged, run_k_min(r), r->k_max));
    for (int64_t s = 0; s < count; s++)
        if (again && first + s == 0)
            TRY(phaser_start_from(r->phaser, s, r->average));
        else
            TRY(phaser_start_random(r->phaser, s, r->seed, (round << 32) + (uint64_t)(first + s)));
    TRY(phaser_run(r->phaser, loops));
    double *densities = r->densities + first * volume(r);
    TRY(phaser_get(r->phaser, densities, r_factors + first));
    return run_check_phasing(r, count, densities, r_factors + first);
}

/* All densities to rank 0, their average to all. Collective. */
static status average(run *r, const double *r_factors, average_report *report)
{
    status result = STATUS_OK;
    for (int i = 0; i < comm_size(r->comm); i++)
        r->share[i] *= volume(r);
    stage_enter(&r->timer, STAGE_EXCHANGE);
    TRY(comm_device_share(r->devices, r->densities, r->share, COMM_DOUBLE));
    stage_enter(&r->timer, STAGE_PHASE);
    if (comm_rank(r->comm) == 0)
        result = averager_run(r->averager, 0.9, r_factors, r->densities, r->average, report);
    TRY(comm_agree(r->comm, result));
    TRY(comm_broadcast(r->comm, report, sizeof *report, COMM_BYTE, 0));
    TRY(comm_device_broadcast(r->devices, r->average, volume(r), COMM_DOUBLE, 0));
    return comm_agree(r->comm, device_to_host(r->dev, r->density, r->average,
                                              volume(r) * (int64_t)sizeof *r->density));
}

status run_phase_starts(run *r, int64_t starts, int loops, uint64_t round, bool again,
                        average_report *report, double *r_factor)
{
    const int64_t mine = run_deal(r, starts), count = r->share[comm_rank(r->comm)];
    double *r_factors = malloc((size_t)starts * sizeof *r_factors);
    status result =
        r_factors ? reserve_densities(r, starts) : FAILED(STATUS_RESOURCE, "out of host memory");
    if (result == STATUS_OK) result = phase_mine(r, mine, count, loops, round, again, r_factors);
    TRY_OR(done, comm_agree(r->comm, result));
    TRY_OR(done, comm_share(r->comm, r_factors, r->share, COMM_DOUBLE));
    TRY_OR(done, average(r, r_factors, report));
    *r_factor = r_factors[0];
    for (int64_t s = 1; s < starts; s++)
        *r_factor = fmin(*r_factor, r_factors[s]);
done:
    free(r_factors);
    return result;
}

static status set_model(run *r)
{
    if (!r->phaser) { /* of the generations that follow */
        (void)run_deal(r, r->cfg->phase.generation_starts);
        TRY(reserve_phaser(r, larger(1, r->share[comm_rank(r->comm)])));
    }
    TRY(phaser_autocorrelation(r->phaser, r->average, r->model));
    return run_check_density(r);
}

status run_set_model(run *r)
{
    r->has_model = true;
    return comm_agree(r->comm, set_model(r));
}

status run_set_density(run *r, const double *density)
{
    const size_t size = (size_t)volume(r) * sizeof *r->density;
    memcpy(r->density, density, size);
    TRY(comm_agree(r->comm, device_from_host(r->dev, r->average, density, (int64_t)size)));
    return run_set_model(r);
}

/* Rank 0 has the starts, and tells all. Collective. */
static status find_prtf(run *r)
{
    status result = STATUS_OK;
    if (comm_rank(r->comm) == 0) result = averager_prtf(r->averager, r->densities, r->prtf);
    TRY(comm_agree(r->comm, result));
    return comm_broadcast(r->comm, r->prtf, r->size / 2 + 1, COMM_DOUBLE, 0);
}

status run_phase_final(run *r, int64_t starts, int loops, average_report *report,
                       run_record *record)
{
    *record = (run_record){0};
    r->k_max = (double)r->size / 2; /* a run that goes on here has had no generation */
    stage_timer_reset(&r->timer, r->dev, r->comm, r->devices);
    stage_enter(&r->timer, STAGE_PHASE);
    TRY(run_phase_starts(r, starts, loops, UINT32_MAX, false, report, &record->r_factor));
    TRY(find_prtf(r));
    stage_enter(&r->timer, STAGE_NONE);
    run_account(r, false, starts, loops, record);
    return STATUS_OK;
}
