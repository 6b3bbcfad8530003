/* CXI (cxidb.org, versions 1.2 to 1.6): images of /entry_1/data_1 or /entry_1/instrument_1/detector_1,
   masks by their bits, and the detector from distance, pixel sizes, corner_position and basis_vectors
   in m, with the photon energy in J.  x, y and z are those of detector.h: z along the beam, y up. */
#include "dataset_format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"

/* Invalid, saturated, hot, dead, shadowed, in a peak mask, to be ignored, bad, missing; the bits above
   tell of pixels that are good. */
enum { BAD_BITS = 0x2FF };

static const double joules_per_ev = 1.602176634e-19;
static const char detector_path[] = "/entry_1/instrument_1/detector_1";

static const h5_reader *file_of(const dataset *ds)
{
    return ((const hdf5_images *)ds->source)->file;
}

static bool cxi_recognize(const char *path)
{
    return h5_file_has(path, "/entry_1/data_1/data") ||
           h5_file_has(path, "/entry_1/instrument_1/detector_1/data") ||
           h5_file_has(path, "/cxi_version");
}

/* ---- images ---- */

static status read_shape(dataset *ds, int64_t image[3])
{
    hdf5_images *source = ds->source;
    h5_shape shape;
    char axes[256] = "";
    TRY(h5_get_shape(source->file, source->name, &shape));
    TRY(dataset_hdf5_shape(ds, true, image));
    if (h5_has_attribute(source->file, source->name, "axes"))
        TRY(h5_read_text(source->file, source->name, "axes", axes, sizeof axes));
    if (shape.rank != 3 || strncmp(axes, "module", strlen("module")) != 0) return STATUS_OK;
    image[0] = source->rows = ds->n_images; /* one image, without an axis of images */
    ds->n_images = 1;
    return STATUS_OK;
}

static status apply_masks(dataset *ds)
{
    static const char *const names[] = {"/entry_1/instrument_1/detector_1/mask",
                                        "/entry_1/data_1/mask"};
    for (int i = 0; i < 2; i++)
        if (h5_has(file_of(ds), names[i]))
            TRY(h5_apply_mask(file_of(ds), names[i], ds->det->shape, 0, BAD_BITS, ds->det->mask));
    return STATUS_OK;
}

/* ---- the detector ---- */

/* The mean of a dataset's numbers; *value stays where there is none. */
static status read_mean(const dataset *ds, const char *folder, const char *name, double *value)
{
    char path[128];
    double *list = NULL, sum = 0, least = INFINITY, most = -INFINITY;
    int64_t n = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!h5_has(file_of(ds), path)) return STATUS_OK;
    TRY(h5_read_list(file_of(ds), path, &list, &n));
    for (int64_t i = 0; i < n; i++) {
        sum += list[i];
        least = fmin(least, list[i]);
        most = fmax(most, list[i]);
    }
    free(list);
    *value = sum / (double)n;
    if (!(least > 0) || !isfinite(most))
        FAIL(STATUS_INPUT, "%s: dataset '%s' is %g to %g; expected positive numbers", ds->path,
             path, least, most);
    if (most - least > 0.01 * *value)
        log_warning("%s: dataset '%s' is %g to %g; the mean, %g, is taken for all images", ds->path,
                    path, least, most, *value);
    return STATUS_OK;
}

static status read_wavelength(const dataset *ds, const geometry_settings *set, double *wavelength)
{
    static const char name[] = "/entry_1/instrument_1/source_1/energy";
    char units[32] = "J";
    double energy = 0;
    *wavelength = set->wavelength;
    if (set->wavelength > 0) return STATUS_OK;
    TRY(read_mean(ds, "/entry_1/instrument_1/source_1", "energy", &energy));
    if (!(energy > 0)) return STATUS_OK;
    if (h5_has_attribute(file_of(ds), name, "units"))
        TRY(h5_read_text(file_of(ds), name, "units", units, sizeof units));
    const double ev = strcmp(units, "eV") == 0 ? energy : energy / joules_per_ev;
    if (!(ev > 10 && ev < 1e6))
        FAIL(STATUS_INPUT,
             "%s: dataset '%s' is %g %s, %g eV; expected joules (is it in eV?): "
             "geometry.photon_energy takes its place",
             ds->path, name, energy, units, ev);
    *wavelength = PHYSICS_HC / ev;
    return STATUS_OK;
}

/* A dataset of `size` numbers, or of that for each module, to values [n_modules][size]. */
static status read_vectors(const dataset *ds, const char *name, int64_t n_modules, int64_t size,
                           double *values)
{
    char path[128];
    double *list = NULL;
    int64_t n = 0;
    snprintf(path, sizeof path, "%s/%s", detector_path, name);
    TRY(h5_read_list(file_of(ds), path, &list, &n));
    const bool fits = n == size || n == n_modules * size;
    for (int64_t i = 0; i < n_modules * size && fits; i++)
        values[i] = list[i % n];
    free(list);
    if (!fits)
        FAIL(STATUS_INPUT,
             "%s: dataset '%s' holds %lld numbers; expected %lld, or that for each of "
             "%lld modules",
             ds->path, path, (long long)n, (long long)size, (long long)n_modules);
    return STATUS_OK;
}

static bool has(const dataset *ds, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", detector_path, name);
    return h5_has(file_of(ds), path);
}

/* What the file and the settings say, or 0. */
typedef struct cxi_sizes {
    double wavelength, distance, x_pixel, y_pixel;
} cxi_sizes;

static status read_sizes(const dataset *ds, const geometry_settings *set, cxi_sizes *sizes)
{
    *sizes = (cxi_sizes){.distance = set->distance};
    TRY(read_wavelength(ds, set, &sizes->wavelength));
    if (!(set->distance > 0)) TRY(read_mean(ds, detector_path, "distance", &sizes->distance));
    sizes->x_pixel = sizes->y_pixel = set->pixel_size;
    if (set->pixel_size > 0) return STATUS_OK;
    TRY(read_mean(ds, detector_path, "x_pixel_size", &sizes->x_pixel));
    return read_mean(ds, detector_path, "y_pixel_size", &sizes->y_pixel);
}

/* Steps and corners of modules; the corner of the first is where its first pixel begins. */
static status read_places(const dataset *ds, const geometry_settings *set, const cxi_sizes *sizes,
                          const int64_t image[3], double *basis, double *corner)
{
    const int64_t n = image[0];
    const double usual[6] = {0, -sizes->y_pixel, 0, -sizes->x_pixel, 0, 0};
    for (int64_t i = 0; i < 6 * n; i++)
        basis[i] = usual[i % 6];
    if (has(ds, "basis_vectors")) TRY(read_vectors(ds, "basis_vectors", n, 6, basis));
    if (has(ds, "corner_position") && !set->has_centre) {
        TRY(read_vectors(ds, "corner_position", n, 3, corner));
        const double shift = set->distance > 0 || corner[2] == 0 ? sizes->distance - corner[2] : 0;
        for (int64_t k = 0; k < n; k++)
            corner[3 * k + 2] += shift;
        return STATUS_OK;
    }
    if (n > 1)
        FAIL(STATUS_CONFIG, "%s: %lld modules without %s/corner_position; set geometry.file",
             ds->path, (long long)n, detector_path);
    double centre[2];
    geometry_centre(set, image[1], image[2], centre);
    for (int d = 0; d < 3; d++)
        corner[d] = -(centre[1] + 0.5) * basis[d] - (centre[0] + 0.5) * basis[3 + d];
    corner[2] += sizes->distance;
    return STATUS_OK;
}

static status place_modules(dataset *ds, const geometry_settings *set, const cxi_sizes *sizes,
                            const int64_t image[3], double *numbers, panel *panels)
{
    double *basis = numbers, *corner = numbers + 6 * image[0];
    TRY(read_places(ds, set, sizes, image, basis, corner));
    for (int64_t k = 0; k < image[0]; k++) {
        panel *p = &panels[k];
        *p = (panel){.n_fs = image[2],
                     .n_ss = image[1],
                     .at = k * image[1] * image[2],
                     .stride_fs = 1,
                     .stride_ss = image[2]};
        for (int d = 0; d < 3; d++) {
            p->ss[d] = basis[6 * k + d];
            p->fs[d] = basis[6 * k + 3 + d];
            p->first[d] = corner[3 * k + d] + 0.5 * (p->ss[d] + p->fs[d]);
        }
        if (!(p->first[2] > 0))
            FAIL(STATUS_INPUT, "%s: module %lld begins at %g m along the beam", ds->path,
                 (long long)k, p->first[2]);
    }
    return status_prefix(
        detector_from_panels(panels, image[0], image, sizes->wavelength, set->polarized, &ds->det),
        "%s", ds->path);
}

static status build_detector(dataset *ds, const geometry_settings *set, const cxi_sizes *sizes,
                             const int64_t image[3])
{
    double *numbers = calloc((size_t)image[0], 9 * sizeof *numbers);
    panel *panels = malloc((size_t)image[0] * sizeof *panels);
    status result = numbers && panels
                        ? place_modules(ds, set, sizes, image, numbers, panels)
                        : FAILED(STATUS_RESOURCE, "%s: no memory for its modules", ds->path);
    free(numbers);
    free(panels);
    return result;
}

static status find_detector(dataset *ds, const dataset_settings *set, const int64_t image[3])
{
    const geometry_images images = {ds->path, {image[0], image[1], image[2]}, file_of(ds)};
    const geometry_settings *g = &set->geometry;
    cxi_sizes sizes;
    if (g->file && *g->file) return dataset_locate(ds, set, &images);
    TRY(read_sizes(ds, g, &sizes));
    const bool has_steps = has(ds, "basis_vectors") || (sizes.x_pixel > 0 && sizes.y_pixel > 0);
    if (sizes.wavelength > 0 && sizes.distance > 0 && has_steps)
        return build_detector(ds, g, &sizes, image);
    if (set->anywhere) return dataset_locate(ds, set, &images);
    FAIL(STATUS_CONFIG,
         "%s does not say where its pixels are:%s%s%s; set geometry.file, or what is missing of "
         "geometry.photon_energy, geometry.distance and geometry.pixel_size",
         ds->path, sizes.wavelength > 0 ? "" : " no source_1/energy",
         sizes.distance > 0 ? "" : " no detector_1/distance",
         has_steps ? "" : " no detector_1/x_pixel_size, y_pixel_size or basis_vectors");
}

static status cxi_open(dataset *ds, const dataset_settings *set)
{
    int64_t image[3];
    const char *usual = h5_file_has(ds->path, "/entry_1/data_1/data")
                            ? "/entry_1/data_1/data"
                            : "/entry_1/instrument_1/detector_1/data";
    TRY(dataset_hdf5_open(ds, set->images, usual));
    TRY(read_shape(ds, image));
    TRY(find_detector(ds, set, image));
    return apply_masks(ds);
}

const dataset_format dataset_cxi = {
    .name = "cxi",
    .recognize = cxi_recognize,
    .open = cxi_open,
    .close = dataset_hdf5_close,
    .read = dataset_hdf5_read,
};
