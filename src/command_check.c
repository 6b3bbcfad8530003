/* `mtip check`: what the settings amount to, before anything runs; what a data set holds. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "check_file.h"
#include "check_settings.h"
#include "commands.h"
#include "inputs.h"

/* |s| = 2 sin(theta/2) / wavelength at this distance from the detector's centre. */
static double momentum(double radius, double distance, double wavelength)
{
    return 2 * sin(atan2(radius, distance) / 2) / wavelength;
}

/* A speckle is 1 / diameter wide and holds two Shannon samples of the intensity along an axis. */
static void print_sampling(const config *c, double wavelength)
{
    const double pixel = momentum(c->detector.pixel_size, c->detector.distance, wavelength);
    const double pixels = 1 / (pixel * c->grid.diameter);
    printf("sampling        %.2f pixels for each speckle of the particle\n", pixels);
    if (pixels < 2)
        log_warning("detector.pixel_size %g mm at detector.distance %g mm gives %.2f pixels for "
                    "each speckle of a particle of grid.diameter %g A; below 2 the images do not "
                    "hold all of it",
                    c->detector.pixel_size, c->detector.distance, pixels, c->grid.diameter);
}

/* What mtip simulate would make; there is nothing else to say yet. */
static status check_future(const config *c)
{
    const double wavelength = PHYSICS_HC / c->beam.photon_energy;
    const double half = (double)(c->detector.pixels - 1) / 2 * c->detector.pixel_size;
    const double edge = momentum(half, c->detector.distance, wavelength);
    const double corner = momentum(half * sqrt(2), c->detector.distance, wavelength);
    printf("wavelength      %.4f A\n", wavelength);
    printf("largest |s|     %.5f 1/A at the edge, %.5f 1/A at the corner of the detector\n", edge,
           corner);
    printf("full period     %.2f A at the edge, %.2f A at the corner\n", 1 / edge, 1 / corner);
    if (c->grid.diameter > 0) print_sampling(c, wavelength);
    check_print_grid(c, corner);
    if (*c->molecule.file && access(c->molecule.file, R_OK) != 0)
        FAIL(STATUS_INPUT, "%s: cannot open: %s; set molecule.file", c->molecule.file,
             strerror(errno));
    return c->grid.diameter > 0 ? inputs_check_grid(c, corner) : STATUS_OK;
}

static status check_config(const cli *c, const char *path)
{
    static config settings;
    TRY(config_load(path, c->n_sets, c->sets, &settings));
    TRY(config_check(&settings, CONFIG_FOR_ANY));
    if (*settings.molecule.file) TRY(config_check(&settings, CONFIG_FOR_SIMULATE));
    if (*settings.data.file) TRY(config_check(&settings, CONFIG_FOR_RECONSTRUCT));
    const char *data = settings.data.file;
    bool made_later = access(data, F_OK) != 0 && strcmp(data, settings.simulate.output) == 0;
    if (made_later) log_info("%s is not there yet; mtip simulate makes it", data);
    return !*data || made_later ? check_future(&settings) : check_run(&settings);
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
