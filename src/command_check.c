/* `mtip check`: what the settings amount to, before anything runs; what a data set holds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check_file.h"
#include "commands.h"
#include "inputs.h"

static const double pi = 3.14159265358979323846;

/* What follows from the geometry and the grid; lengths in A. */
typedef struct summary {
    double wavelength;
    double s_edge, s_corner; /* largest |s| at the middle of an edge, at a corner, 1/A */
    double voxel, box;
    double oversampling; /* pixels for each 1 / diameter */
    double step;         /* Crowther's, resolution over diameter, rad */
} summary;

/* |s| = 2 sin(theta/2) / wavelength at this distance from the detector's centre. */
static double momentum(double radius, double distance, double wavelength)
{
    return 2 * sin(atan2(radius, distance) / 2) / wavelength;
}

static summary summarize(const config *c)
{
    summary s = {.wavelength = 12398.419843320026 / c->beam.photon_energy};
    double half = (double)(c->detector.pixels - 1) / 2 * c->detector.pixel_size;
    double distance = c->detector.distance;
    s.s_edge = momentum(half, distance, s.wavelength);
    s.s_corner = momentum(half * sqrt(2), distance, s.wavelength);
    s.voxel = 1 / (2 * s.s_corner);
    s.box = s.voxel * (double)c->grid.size;
    double pixel = momentum(c->detector.pixel_size, distance, s.wavelength);
    s.oversampling = 1 / (pixel * c->grid.diameter);
    s.step = 1 / (s.s_corner * c->grid.diameter);
    return s;
}

/* Rotations in a cover of SO(3) whose cells have edges of this many rad; its volume is 8 pi^2. */
static double rotations_of(double step)
{
    return 8 * pi * pi / (step * step * step);
}

static double step_of(int64_t n_rotations)
{
    return cbrt(8 * pi * pi / (double)n_rotations) * 180 / pi;
}

static void print_particle(const config *c, const summary *s)
{
    printf("particle        %g A, %.1f voxels; twice that is %.0f %% of the box\n",
           c->grid.diameter, c->grid.diameter / s->voxel, 200 * c->grid.diameter / s->box);
    printf("sampling        %.2f pixels for each Shannon sample of its intensity\n",
           s->oversampling / 2);
    printf("orientations    %.0f references would be %.2f degrees apart, resolution / diameter\n",
           rotations_of(s->step), s->step * 180 / pi);
}

static void print_summary(const config *c, const summary *s)
{
    printf("wavelength      %.4f A\n", s->wavelength);
    printf("largest |s|     %.5f 1/A at the edge, %.5f 1/A at the corner of the detector\n",
           s->s_edge, s->s_corner);
    printf("full period     %.2f A at the edge, %.2f A at the corner\n", 1 / s->s_edge,
           1 / s->s_corner);
    printf("voxel           %.3f A, a half of the period at the corner\n", s->voxel);
    printf("box             %.1f A, %lld voxels\n", s->box, (long long)c->grid.size);
    if (c->grid.diameter > 0) print_particle(c, s);
    printf("references      %lld, %.2f degrees apart; at last %lld, %.2f degrees\n",
           (long long)c->slice.references, step_of(c->slice.references),
           (long long)c->slice.final_references, step_of(c->slice.final_references));
}

static void warn(const config *c, const summary *s)
{
    if (!(c->grid.diameter > 0)) return;
    if (s->oversampling < 2)
        log_warning("detector.pixel_size %g mm at detector.distance %g mm gives %.2f pixels for "
                    "each Shannon sample of a particle of grid.diameter %g A; below 1 the images "
                    "do not hold all of it",
                    c->detector.pixel_size, c->detector.distance, s->oversampling / 2,
                    c->grid.diameter);
    if (rotations_of(s->step) > 2 * (double)c->slice.final_references)
        log_warning("slice.final_references is %lld, but full resolution asks for about %.0f",
                    (long long)c->slice.final_references, rotations_of(s->step));
}

static status check_config(const cli *c, const char *path)
{
    static config settings;
    TRY(config_load(path, c->n_sets, c->sets, &settings));
    TRY(config_check(&settings, CONFIG_FOR_ANY));
    if (*settings.molecule.file) TRY(config_check(&settings, CONFIG_FOR_SIMULATE));
    if (*settings.data.file) TRY(config_check(&settings, CONFIG_FOR_RECONSTRUCT));
    summary s = summarize(&settings);
    print_summary(&settings, &s);
    warn(&settings, &s);
    const char *data = settings.data.file;
    bool made_later = access(data, F_OK) != 0 && strcmp(data, settings.simulate.output) == 0;
    if (made_later) log_info("%s is not there yet; mtip simulate makes it", data);
    if (!*data || made_later)
        return settings.grid.diameter > 0 ? inputs_check_grid(&settings, s.s_corner) : STATUS_OK;
    printf("\n");
    return check_run(&settings);
}

static status check_one_file(const cli *c, const char *path)
{
    static config settings;
    TRY(config_load(NULL, c->n_sets, c->sets, &settings));
    if (strlen(path) >= sizeof settings.data.file)
        FAIL(STATUS_USAGE, "a path of %zu characters", strlen(path));
    snprintf(settings.data.file, sizeof settings.data.file, "%s", path);
    return check_file(&settings);
}

status command_check(const cli *c, comm *world)
{
    (void)world;
    for (int i = 0; i < c->n_arguments; i++) {
        const char *path = c->arguments[i];
        if (c->n_arguments > 1) printf("%s%s:\n", i ? "\n" : "", path);
        TRY(check_file_is(path) ? check_one_file(c, path) : check_config(c, path));
    }
    return STATUS_OK;
}
