/* Settings that contradict each other.  What needs the data (the largest |s|, the number of images)
   is checked where the data are known, with config_fail. */
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "config_schema.h"
#include "mtip/simulate.h"
#include "text.h"

typedef struct problems {
    const config *config;
    char text[6144];
    size_t used;
} problems;

/* "run.yaml:12:3: grid.size" */
static void place_text(const config *c, const void *setting, char *text, size_t size)
{
    const config_key *key = config_key_of(c, setting);
    if (!key) {
        snprintf(text, size, "%s: config", c->path);
        return;
    }
    config_place place = c->places[key - config_keys];
    const char *path = *c->path ? c->path : "config";
    if (place.line > 0)
        snprintf(text, size, "%s:%d:%d: %s.%s", path, place.line, place.column, key->section,
                 key->name);
    else if (place.line < 0)
        snprintf(text, size, "--set %s.%s: it", key->section, key->name);
    else
        snprintf(text, size, "%s: %s.%s (not given)", path, key->section, key->name);
}

status config_fail(const config *c, const void *setting, const char *format, ...)
{
    char where[CONFIG_TEXT_SIZE + 128];
    char message[1024];
    place_text(c, setting, where, sizeof where);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    FAIL(STATUS_CONFIG, "%s %s", where, message);
}

static void add(problems *p, const void *setting, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void add(problems *p, const void *setting, const char *format, ...)
{
    char where[CONFIG_TEXT_SIZE + 128];
    char message[1024];
    place_text(p->config, setting, where, sizeof where);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    size_t room = sizeof p->text - p->used;
    int n = snprintf(p->text + p->used, room, "%s%s %s", p->used ? "\n" : "", where, message);
    if (n > 0) p->used += (size_t)n < room ? (size_t)n : room - 1;
}

static void check_detector(problems *p, const config *c)
{
    if (c->detector.beam_stop >= c->detector.pixels)
        add(p, &c->detector.beam_stop,
            "is %lld pixels and detector.pixels is %lld, so that every pixel is blocked; make it "
            "smaller",
            (long long)c->detector.beam_stop, (long long)c->detector.pixels);
}

static void check_nufft(problems *p, const config *c)
{
    double up = c->nufft.upsampling;
    if (up != 0 && up != 1.25 && up != 2)
        add(p, &c->nufft.upsampling, "is %g; write 2, 1.25, or 0 to let the program choose", up);
    double least = c->run.precision == CONFIG_PRECISION_SINGLE ? 1e-6 : 1e-14;
    double coarse = c->run.precision == CONFIG_PRECISION_SINGLE ? 1e-4 : 1e-8;
    if (up == 1.25 && c->nufft.tolerance < coarse)
        add(p, &c->nufft.upsampling,
            "is 1.25, which reaches %g at best, and nufft.tolerance is %g; write 2 or 0", coarse,
            c->nufft.tolerance);
    if (c->nufft.tolerance < least)
        add(p, &c->nufft.tolerance,
            "is %g and run.precision is %s, which reaches %g at best; raise it%s",
            c->nufft.tolerance, least > 1e-10 ? "single" : "double", least,
            least > 1e-10 ? ", or set run.precision to double" : "");
}

static void check_match(problems *p, const config *c)
{
    double start = c->match.perplexity_start * (double)c->slice.references;
    if (c->match.method == CONFIG_METHOD_EMC && start < c->match.perplexity_end)
        add(p, &c->match.perplexity_start,
            "is %g, of slice.references %lld this is %.3g references, below match.perplexity_end "
            "%g; raise it",
            c->match.perplexity_start, (long long)c->slice.references, start,
            c->match.perplexity_end);
    if (c->slice.final_references < c->slice.references)
        add(p, &c->slice.final_references,
            "is %lld, fewer than slice.references %lld; the final generations need at least as many",
            (long long)c->slice.final_references, (long long)c->slice.references);
}

static void check_phase(problems *p, const config *c)
{
    if (c->phase.er + c->phase.hio == 0)
        add(p, &c->phase.er, "is 0 and phase.hio is 0, so that phasing does nothing; raise one");
}

/* Far more threads than cores may not even start, and never end. */
static void check_threads(problems *p, const config *c)
{
    const long long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (cores > 0 && c->parallel.threads > 16 * cores)
        add(p, &c->parallel.threads,
            "is %lld, but this node has %lld core%s; lower it, or write 0 for a rank's share",
            (long long)c->parallel.threads, cores, text_plural(cores));
}

static void check_simulate(problems *p, const config *c)
{
    if (!*c->molecule.file)
        add(p, &c->molecule.file, "is required by simulate; write the path of a PDB or mmCIF file");
    if (!*c->simulate.output)
        add(p, &c->simulate.output, "is empty; write the path of the data set to make");
    double photons = c->simulate.photons_per_image * (1 + c->simulate.fluence_jitter);
    double pixels = (double)(c->detector.pixels * c->detector.pixels);
    if (photons / pixels > SIMULATE_MOST_PHOTONS)
        add(p, &c->simulate.photons_per_image,
            "is %g on %g pixels, more than a pixel's 32-bit count can hold; lower it",
            c->simulate.photons_per_image, pixels);
}

static void check_reconstruct(problems *p, const config *c)
{
    if (!*c->data.file)
        add(p, &c->data.file, "is required by reconstruct; write the data set's path");
    if (!*c->run.directory)
        add(p, &c->run.directory, "is empty; write where the results should go");
    if (!(c->grid.diameter > 0))
        add(p, &c->grid.diameter,
            "is required by reconstruct; write the largest diameter of the particle in A");
    if (c->data.images == 1) add(p, &c->data.images, "is 1; the two halves need an image each");
    if (c->run.deterministic && c->parallel.backend == CONFIG_BACKEND_CUDA)
        add(p, &c->run.deterministic,
            "is true and parallel.backend is cuda; the same bits are promised on CPUs only, set "
            "one of them differently");
}

status config_check(const config *c, config_use use)
{
    problems p = {.config = c};
    check_detector(&p, c);
    check_nufft(&p, c);
    check_match(&p, c);
    check_phase(&p, c);
    if (use != CONFIG_FOR_ANY) check_threads(&p, c);
    if (use == CONFIG_FOR_SIMULATE) check_simulate(&p, c);
    if (use == CONFIG_FOR_RECONSTRUCT) check_reconstruct(&p, c);
    if (p.used) FAIL(STATUS_CONFIG, "%s", p.text);
    return STATUS_OK;
}
