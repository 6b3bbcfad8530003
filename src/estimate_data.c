#include "estimate_data.h"

#include "core/integer.h"
#include "core/log.h"
#include "image_pixels.h"
#include "inputs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static status open_file(const config *cfg, catalogue *k)
{
    const dataset_settings settings = dataset_settings_of(cfg);
    k->scatter = cfg->parallel.read == CONFIG_READ_SCATTER;
    TRY(dataset_open(&settings, &k->file));
    TRY(image_pixels_mask(cfg, k->file));
    TRY(image_pixels_choose(k->file->det, k->file->correction, k));
    k->n_usable = k->file->n_images - cfg->data.first;
    if (cfg->data.images > 0) k->n_usable = smaller(k->n_usable, cfg->data.images);
    return STATUS_OK;
}

static status foresee(const config *cfg, catalogue *k)
{
    detector *det = NULL, *binned = NULL;
    TRY(dataset_detector_to_simulate(cfg, &det));
    status result = detector_bin(det, cfg->data.clip, cfg->data.bin, &binned);
    if (result == STATUS_OK) result = image_pixels_choose(binned, NULL, k);
    detector_destroy(binned);
    detector_destroy(det);
    k->n_usable = cfg->data.images > 0 ? cfg->data.images : cfg->simulate.images - cfg->data.first;
    return result;
}

static status open_either(const config *cfg, catalogue *k)
{
    const char *path = cfg->data.file;
    const bool later = access(path, F_OK) != 0 && strcmp(path, cfg->simulate.output) == 0;
    if (later) log_info("%s is not there yet; mtip simulate makes it", path);
    TRY(later ? foresee(cfg, k) : open_file(cfg, k));
    if (k->n_usable < 2)
        FAIL(STATUS_INPUT,
             "%s: images from data.first = %lld on: %lld; the two halves need one each", path,
             (long long)cfg->data.first, (long long)k->n_usable);
    return inputs_check_grid(cfg, k->radius[k->n_pixels - 1]);
}

status estimate_data_open(const config *cfg, catalogue **created)
{
    *created = NULL;
    catalogue *k = calloc(1, sizeof *k);
    if (!k) FAIL(STATUS_RESOURCE, "out of host memory");
    const status result = open_either(cfg, k);
    if (result == STATUS_OK)
        *created = k;
    else
        catalogue_destroy(k);
    return result;
}
