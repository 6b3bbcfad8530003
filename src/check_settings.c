#include "check_settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"

static const double pi = 3.14159265358979323846;

/* Rotations in a cover of SO(3) whose cells have edges of this many rad; its volume is 8 pi^2. */
static double rotations_of(double step)
{
    return 8 * pi * pi / (step * step * step);
}

static double step_of(int64_t n_rotations)
{
    return cbrt(8 * pi * pi / (double)n_rotations) * 180 / pi;
}

/* The step between orientations is Crowther's, resolution over diameter. */
static void print_particle(const config *c, double s_max)
{
    const double diameter = c->grid.diameter, step = 1 / (s_max * diameter);
    const double voxels = 2 * s_max * diameter;
    printf("particle        %g A, %.1f voxels; twice that is %.0f %% of the box\n", diameter,
           voxels, 200 * voxels / (double)c->grid.size);
    printf("orientations    %.0f references would be %.2f degrees apart, resolution / diameter\n",
           rotations_of(step), step * 180 / pi);
    if (rotations_of(step) > 2 * (double)c->slice.final_references)
        log_warning("slice.final_references is %lld, but full resolution asks for about %.0f",
                    (long long)c->slice.final_references, rotations_of(step));
}

void check_print_grid(const config *c, double s_max)
{
    const double voxel = 1 / (2 * s_max);
    printf("voxel           %.3f A, half the finest period\n", voxel);
    printf("box             %.1f A, %lld voxels\n", voxel * (double)c->grid.size,
           (long long)c->grid.size);
    if (c->grid.diameter > 0) print_particle(c, s_max);
    printf("references      %lld, %.2f degrees apart; at last %lld, %.2f degrees\n",
           (long long)c->slice.references, step_of(c->slice.references),
           (long long)c->slice.final_references, step_of(c->slice.final_references));
}

static bool differ(double a, double b)
{
    return fabs(a - b) > 1e-3 * b;
}

void check_warn_of_age(const config *c, const detector *det)
{
    const double energy = det->wavelength > 0 ? PHYSICS_HC / det->wavelength : NAN;
    if (strcmp(c->data.file, c->simulate.output) != 0 || *c->geometry.file) return;
    if (det->n_pixels != c->detector.pixels * c->detector.pixels)
        log_warning("%s has images of %lld pixels, but detector.pixels is %lld: mtip simulate has "
                    "not run since",
                    c->data.file, (long long)det->n_pixels, (long long)c->detector.pixels);
    else if (differ(energy, c->beam.photon_energy) ||
             differ(1e3 * det->pixel_size, c->detector.pixel_size) ||
             differ(1e3 * det->distance, c->detector.distance))
        log_warning("%s is of pixels of %.4g mm at %.4g mm and %.1f eV, but the settings say %g mm "
                    "at %g mm and %g eV: mtip simulate has not run since",
                    c->data.file, 1e3 * det->pixel_size, 1e3 * det->distance, energy,
                    c->detector.pixel_size, c->detector.distance, c->beam.photon_energy);
}
