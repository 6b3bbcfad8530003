/* Whatever a file's bytes are, a reader gives a result or a message.  FUZZ_KIND says which reader. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "blacklist.h"
#include "core/log.h"
#include "dataset.h"
#include "molecule.h"
#include "orientations.h"
#include "volume.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static status look_at_geometry(const char *path)
{
    detector *det = NULL;
    const geometry_settings set = {.file = path, .wavelength = 2, .distance = 0};
    status result = geometry_read_alone(&set, &det);
    detector_destroy(det);
    return result;
}

static status look_at_images(const char *path)
{
    enum { MOST = 1 << 20 };
    dataset *ds = NULL;
    const dataset_settings set = {.path = path, .format = CONFIG_FORMAT_EMC, .anywhere = true};
    TRY(dataset_open(&set, &ds));
    float *image = ds->n_pixels <= MOST ? malloc((size_t)ds->n_pixels * sizeof *image) : NULL;
    status result = STATUS_OK;
    for (int64_t i = 0; i < ds->n_images && i < 20 && image && result == STATUS_OK; i++)
        result = dataset_read(ds, i, 1, image);
    free(image);
    dataset_close(ds);
    return result;
}

static status look_at_molecule(const char *path)
{
    molecule *mol = NULL;
    const molecule_settings set = {true, true, true, -1, 1, 79};
    status result = molecule_read(path, &set, &mol);
    molecule_destroy(mol);
    return result;
}

static status look_at_map(const char *path)
{
    mrc_map *map = NULL;
    status result = mrc_read(path, &map);
    mrc_destroy(map);
    return result;
}

static status look_at_table(const char *path)
{
    orientations list;
    uint8_t *unwanted = NULL;
    status result = orientations_read(path, &list);
    if (result == STATUS_OK) orientations_free(&list);
    if (blacklist_read(path, 3, &unwanted) == STATUS_OK) free(unwanted);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[64];
    if (file < 0) {
        log_setup(LOG_ERROR, 0, 1);
        file = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size) return 0;
    if (FUZZ_KIND(path) != STATUS_OK && !*status_message()) abort();
    return 0;
}
