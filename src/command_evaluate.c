/* `mtip evaluate`: how good a reconstruction is, against the truth and between its halves. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "commands.h"
#include "core/log.h"
#include "io_atomic.h"
#include "mtip/align.h"
#include "mtip/evaluate.h"
#include "mtip/fsc.h"
#include "mtip/rotation.h"
#include "truth.h"

static const double DEGREES = 57.29577951308232;

typedef struct evaluation {
    run_output *run;
    truth *truth;     /* NULL: unknown */
    fsc *to_truth;    /* NULL: unknown */
    fsc *halves;      /* NULL: the run has none */
    alignment motion; /* of the density to the truth */
    bool has_error;   /* of the orientations */
    orientation_error error;
} evaluation;

static void evaluation_finish(evaluation *e)
{
    fsc_destroy(e->to_truth);
    fsc_destroy(e->halves);
    truth_destroy(e->truth);
    run_output_destroy(e->run);
}

/* ---- computing ------------------------------------------------------------------------------ */

/* What --truth says, else the run's own data set if it is still there; NULL if neither. */
static const char *truth_path(const cli *c, const run_output *run)
{
    const char *given = cli_option_text(c, "--truth");
    if (given) return given;
    if (*run->data_file && access(run->data_file, R_OK) == 0) return run->data_file;
    if (*run->data_file)
        log_warning("cannot read the run's data set %s; give the truth with --truth FILE",
                    run->data_file);
    return NULL;
}

static status compare_density(const device *dev, evaluation *e)
{
    const run_output *run = e->run;
    size_t size = (size_t)(run->n * run->n * run->n);
    double radius = run->s_max * run->voxel * (double)run->n;
    double *aligned = malloc(size * sizeof *aligned);
    if (!aligned) FAIL(STATUS_RESOURCE, "no memory for a map of %lld", (long long)run->n);
    status result = STATUS_OK;
    TRY_OR(done, align(dev, run->n, radius, e->truth->density, run->density, aligned, &e->motion));
    TRY_OR(done, fsc_create(dev, run->n, run->voxel, run->s_max, e->truth->density, aligned,
                            &e->to_truth));
done:
    free(aligned);
    return result;
}

static status compare(const device *dev, const char *path, evaluation *e)
{
    const run_output *run = e->run;
    if (run->half[0] && run->half[1])
        TRY(fsc_create(dev, run->n, run->voxel, run->s_max, run->half[0], run->half[1],
                       &e->halves));
    if (!path) return STATUS_OK;
    TRY(truth_read(dev, path, run, &e->truth));
    if (e->truth->density) TRY(compare_density(dev, e));
    if (!e->truth->orientations) return STATUS_OK;
    TRY(orientation_error_find(run->n_images, run->orientations, e->truth->orientations, NULL,
                               &e->error));
    e->has_error = true;
    return STATUS_OK;
}

/* ---- reporting ------------------------------------------------------------------------------ */

static void print_table(const evaluation *e, FILE *out)
{
    const fsc *any = e->to_truth ? e->to_truth : e->halves;
    fprintf(out, "# Fourier shell correlation%s%s%s\n", e->to_truth ? " with the truth" : "",
            e->to_truth && e->halves ? ", and" : "", e->halves ? " of the halves" : "");
    fprintf(out, "# shell  s[1/A]      d[A] n_voxels%s%s\n", e->to_truth ? "       fsc" : "",
            e->halves ? "    halves" : "");
    for (int i = 0; i < any->n_shells; i++) {
        fprintf(out, "%7d %.6f %9.3f %8lld", i, any->s[i], any->s[i] > 0 ? 1 / any->s[i] : INFINITY,
                (long long)any->n_voxels[i]);
        if (e->to_truth) fprintf(out, " %9.5f", e->to_truth->value[i]);
        if (e->halves) fprintf(out, " %9.5f", e->halves->value[i]);
        fprintf(out, "\n");
    }
}

static status write_table(const evaluation *e)
{
    char path[2 * CONFIG_TEXT_SIZE];
    atomic_file *file = NULL;
    snprintf(path, sizeof path, "%s/fsc.txt", e->run->directory);
    TRY(atomic_begin_stream(path, &file));
    print_table(e, atomic_stream(file));
    return atomic_commit(file);
}

/* Lines that start with who: "FSC(0.5) 7.84 A", or "FSC(0.5) none". */
static void print_resolution(const char *who, const fsc *f, double threshold)
{
    fsc_resolution r = fsc_resolution_at(f, threshold);
    if (r.outcome == FSC_BETTER_THAN_EDGE)
        printf("%sFSC stays above %g: better than the edge\n", who, threshold);
    char text[FSC_TEXT_SIZE];
    printf("%sFSC(%g) %s\n", who, threshold, fsc_resolution_text(&r, text));
}

static void print_text(const evaluation *e)
{
    print_table(e, stdout);
    if (e->has_error) {
        printf("orientations: median error %.2f degrees, %.1f %% of %lld within 10 degrees\n",
               e->error.median_degrees, 100 * e->error.within_10_degrees,
               (long long)e->run->n_images);
        if (e->to_truth)
            printf("frames of density and orientations differ by %.2f degrees\n",
                   DEGREES * rotation_angle(e->error.frame, e->motion.q));
    }
    if (e->to_truth)
        printf("density: correlation %.4f with the truth, hand %+d%s\n", e->motion.correlation,
               e->motion.hand, e->motion.hand < 0 ? " (inverted)" : "");
    if (e->halves) {
        print_resolution("halves: ", e->halves, 0.143);
        print_resolution("halves: ", e->halves, 0.5);
    }
    /* The last line is for programs. */
    print_resolution("", e->to_truth ? e->to_truth : e->halves, 0.5);
}

/* JSON knows no infinity. */
static void json_number(const char *name, double value, const char *after)
{
    if (isfinite(value))
        printf("  \"%s\": %.9g%s\n", name, value, after);
    else
        printf("  \"%s\": null%s\n", name, after);
}

static void json_curve(const char *name, int n, const double *values)
{
    printf("  \"%s\": [", name);
    for (int i = 0; i < n; i++)
        printf("%s%.6g", i ? ", " : "", values[i]);
    printf("],\n");
}

static void json_fsc(const char *prefix, const fsc *f)
{
    static const char *const outcomes[] = {"crosses", "better than the edge", "none"};
    char name[64];
    fsc_resolution half = {FSC_NONE, NAN}, strict = half;
    if (f) {
        half = fsc_resolution_at(f, 0.5);
        strict = fsc_resolution_at(f, 0.143);
        snprintf(name, sizeof name, "%sfsc", prefix);
        json_curve(name, f->n_shells, f->value);
        printf("  \"%sfsc05_outcome\": \"%s\",\n", prefix, outcomes[half.outcome]);
    }
    snprintf(name, sizeof name, "%sfsc05_angstrom", prefix);
    json_number(name, half.angstrom, ",");
    snprintf(name, sizeof name, "%sfsc0143_angstrom", prefix);
    json_number(name, strict.angstrom, ",");
}

static void print_json(const evaluation *e)
{
    const fsc *any = e->to_truth ? e->to_truth : e->halves;
    const alignment *motion = &e->motion;
    bool placed = e->to_truth != NULL;
    printf("{\n");
    json_curve("s_per_angstrom", any->n_shells, any->s);
    json_fsc("", e->to_truth);
    json_fsc("half_", e->halves);
    json_number("hand", placed ? (double)motion->hand : NAN, ",");
    json_number("cc", placed ? motion->correlation : NAN, ",");
    if (placed) {
        printf("  \"rotation\": [%.9g, %.9g, %.9g, %.9g],\n", motion->q[0], motion->q[1],
               motion->q[2], motion->q[3]);
        printf("  \"shift_voxels\": [%.6g, %.6g, %.6g],\n", motion->shift[0], motion->shift[1],
               motion->shift[2]);
    }
    json_number("orientation_error_median_deg", e->has_error ? e->error.median_degrees : NAN, ",");
    json_number("orientation_within_10_deg", e->has_error ? e->error.within_10_degrees : NAN, ",");
    json_number("n_images", (double)e->run->n_images, ",");
    json_number("size", (double)e->run->n, ",");
    json_number("voxel_angstrom", e->run->voxel, ",");
    json_number("edge_angstrom", 1 / e->run->s_max, "");
    printf("}\n");
}

static status evaluate(const cli *c, const device *dev, evaluation *e)
{
    TRY(run_output_read(c->arguments[0], &e->run));
    TRY(compare(dev, truth_path(c, e->run), e));
    if (!e->to_truth && !e->halves)
        FAIL(STATUS_INPUT,
             "%s holds no two halves to compare, and no truth is known; give one with --truth FILE",
             e->run->directory);
    TRY(write_table(e));
    if (cli_option_given(c, "--json"))
        print_json(e);
    else
        print_text(e);
    return STATUS_OK;
}

status command_evaluate(const cli *c, comm *world)
{
    (void)world;
    evaluation e = {0};
    device *dev = NULL;
    TRY(device_create_cpu(0, &dev));
    status result = evaluate(c, dev, &e);
    evaluation_finish(&e);
    device_destroy(dev);
    return result;
}
