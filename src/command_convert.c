/* `mtip convert`: data sets, detectors, maps and orientations from one format to another. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "geometry_write.h"
#include "image_writer.h"
#include "orientations.h"
#include "text.h"
#include "volume.h"

/* What a format is of; images, maps, orientations or a detector are made from a file that has them. */
typedef enum kind { KIND_IMAGES, KIND_DETECTOR, KIND_MAP, KIND_ORIENTATIONS, N_KINDS } kind;

typedef struct target {
    kind kind;
    int index; /* in the kind's list */
} target;

static const char detector_name[] = "detector";

/* The name and suffix of format `index` of a kind; false past the last. */
static bool format_of(kind k, int index, const char **name, const char **suffix)
{
    if (k == KIND_IMAGES && index < N_IMAGE_FORMATS) {
        *name = image_formats[index]->name;
        *suffix = image_formats[index]->suffix;
        return true;
    }
    if (k == KIND_DETECTOR && index < 1) {
        *name = detector_name;
        *suffix = NULL;
        return true;
    }
    if (k == KIND_MAP && index < n_volume_formats) {
        *name = volume_formats[index].name;
        *suffix = volume_formats[index].suffix;
        return true;
    }
    if (k == KIND_ORIENTATIONS && index < n_orientation_formats) {
        *name = orientation_formats[index].name;
        *suffix = orientation_formats[index].suffix;
        return true;
    }
    return false;
}

static bool ends_in(const char *path, const char *suffix)
{
    if (!suffix) return false;
    const size_t n = strlen(path), m = strlen(suffix);
    return m <= n && strcmp(path + n - m, suffix) == 0;
}

/* What the input is, as far as its contents say without a format being asked for. */
static kind kind_of_input(const char *path)
{
    if (volume_recognize(path)) return KIND_MAP;
    return geometry_recognize(path) ? KIND_DETECTOR : KIND_IMAGES;
}

/* A detector's file becomes one of Dragonfly's and nothing else. */
static status choose_detector(const char *in, const char *out, const char *named, target *to)
{
    *to = (target){KIND_DETECTOR, 0};
    if (named ? strcmp(named, detector_name) == 0 : ends_in(out, ".h5") || ends_in(out, ".dat"))
        return STATUS_OK;
    FAIL(STATUS_USAGE, "%s: %s; name the output .h5 or .dat, or give --to %s", in,
         geometry_recognize(in), detector_name);
}

/* The format that was named, or the one of the input's kind whose suffix the output has. */
static status choose_target(const char *in, const char *out, const char *named, target *to)
{
    char list[512] = "";
    const kind preferred = kind_of_input(in);
    if (preferred == KIND_DETECTOR) return choose_detector(in, out, named, to);
    for (int i = 0; i < N_KINDS; i++) {
        const kind k = (kind)(((int)preferred + i) % N_KINDS);
        const char *name, *suffix;
        for (int f = 0; format_of(k, f, &name, &suffix); f++) {
            if (named ? strcmp(named, name) == 0 : ends_in(out, suffix)) {
                *to = (target){k, f};
                return STATUS_OK;
            }
            size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", name);
        }
    }
    if (named) FAIL(STATUS_USAGE, "--to %s: is none of %s", named, list);
    FAIL(STATUS_USAGE, "%s: its name does not tell the format; give --to with one of %s", out,
         list);
}

static status convert_images(const config *c, const char *out, const image_format *format)
{
    dataset *ds = NULL;
    dataset_settings settings = dataset_settings_of(c);
    settings.anywhere = true;
    TRY(dataset_open(&settings, &ds));
    status result = image_write_all(format, out, ds);
    if (result == STATUS_OK)
        log_info("%s: %lld image%s of %lld pixels (%s) to %s (%s)", c->data.file,
                 (long long)ds->n_images, text_plural(ds->n_images), (long long)ds->n_pixels,
                 dataset_format_name(ds), out, format->name);
    dataset_close(ds);
    return result;
}

/* The detector of images, or of a geometry file. */
static status convert_detector(const config *c, const char *out)
{
    dataset_settings settings = dataset_settings_of(c);
    if (geometry_recognize(c->data.file)) {
        detector *det = NULL;
        settings.geometry.file = c->data.file;
        TRY(geometry_read_alone(&settings.geometry, &det));
        status result = geometry_write_dragonfly(out, det);
        detector_destroy(det);
        return result;
    }
    dataset *ds = NULL;
    TRY(dataset_open(&settings, &ds));
    status result = geometry_write_dragonfly(out, ds->det);
    dataset_close(ds);
    return result;
}

static status convert_map(const config *c, const char *out, const volume_format *format)
{
    mrc_map *map = NULL;
    TRY(volume_read(c->data.file, c->data.dataset, &map));
    if (!(map->voxel[0] > 0)) log_warning("%s does not say the size of its voxels", c->data.file);
    status result = format->write(out, map);
    mrc_destroy(map);
    return result;
}

static status convert_orientations(const config *c, const char *out,
                                   const orientation_format *format)
{
    orientations list;
    TRY(orientations_read(c->data.file, &list));
    status result = format->write(out, &list);
    orientations_free(&list);
    return result;
}

static status convert(const config *c, const char *out, const target *to)
{
    switch (to->kind) {
    case KIND_IMAGES:
        return convert_images(c, out, image_formats[to->index]);
    case KIND_DETECTOR:
        return convert_detector(c, out);
    case KIND_MAP:
        return convert_map(c, out, &volume_formats[to->index]);
    default:
        return convert_orientations(c, out, &orientation_formats[to->index]);
    }
}

status command_convert(const cli *c, comm *world)
{
    static config settings;
    const char *in = c->arguments[0], *out = c->arguments[1];
    (void)world;
    target to;
    TRY(config_load(NULL, c->n_sets, c->sets, &settings));
    if (strlen(in) >= sizeof settings.data.file)
        FAIL(STATUS_USAGE, "a path of %zu characters", strlen(in));
    snprintf(settings.data.file, sizeof settings.data.file, "%s", in);
    TRY(choose_target(in, out, cli_option_text(c, "--to"), &to));
    return convert(&settings, out, &to);
}
