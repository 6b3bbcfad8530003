/* CrystFEL's geometry applied to images: where panels lie in them, lengths and energies from their
   file, masks and bad regions. */
#include "geometry_format.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "crystfel.h"
#include "text_file.h"

/* The axes of an image, that of events aside; slow to fast, those that are missing first. */
typedef struct layout {
    int dims[3]; /* crystfel_dim; CRYSTFEL_DIM_NONE for an axis that is not there */
} layout;

/* The first line that is no comment is "name = value" or "panel/name = value". */
static bool crystfel_recognize(const char *path)
{
    char begin[8192];
    if (text_begin(path, begin, sizeof begin - 1) == 0) return false;
    text_lines lines = {begin, 0};
    for (char *line; (line = text_next_line(&lines, ";"));) {
        if (!*line) continue;
        size_t n = 0;
        while (isalnum((unsigned char)line[n]) || line[n] == '_' || line[n] == '/')
            n++;
        return n > 0 && line[n + strspn(line + n, " \t")] == '=';
    }
    return false;
}

/* ---- the layout ---- */

static status find_layout(const char *path, const crystfel_panel *p, layout *l)
{
    int found[CRYSTFEL_DIMS], n = 0, n_events = 0, n_ss = 0, n_fs = 0;
    for (int i = 0; i < CRYSTFEL_DIMS; i++) {
        n_events += p->dims[i] == CRYSTFEL_DIM_EVENT;
        n_ss += p->dims[i] == CRYSTFEL_DIM_SS;
        n_fs += p->dims[i] == CRYSTFEL_DIM_FS;
        if (p->dims[i] != CRYSTFEL_DIM_EVENT && p->dims[i] != CRYSTFEL_DIM_NONE)
            found[n++] = p->dims[i];
    }
    if (n == 0) {
        found[n++] = CRYSTFEL_DIM_SS;
        found[n++] = CRYSTFEL_DIM_FS;
        n_ss = n_fs = 1;
    }
    if (n > 3 || n_ss != 1 || n_fs != 1 || n_events > 1 ||
        (n_events == 1 && p->dims[0] != CRYSTFEL_DIM_EVENT))
        FAIL(STATUS_INPUT,
             "%s: panel '%s' has %d axes of events, %d of ss, %d of fs and %d in all; expected at "
             "most one of events (dim0 = %%), one of ss, one of fs and one number",
             path, p->name, n_events, n_ss, n_fs, n + n_events);
    for (int d = 0; d < 3; d++)
        l->dims[d] = d < 3 - n ? CRYSTFEL_DIM_NONE : found[d - (3 - n)];
    return STATUS_OK;
}

/* How far a panel reaches along an axis of the image. */
static int64_t reach(const crystfel_panel *p, int dim)
{
    switch (dim) {
    case CRYSTFEL_DIM_SS:
        return p->max_ss + 1;
    case CRYSTFEL_DIM_FS:
        return p->max_fs + 1;
    case CRYSTFEL_DIM_NONE:
        return 1;
    default:
        return (int64_t)dim + 1;
    }
}

/* The smallest image that holds all panels. */
static status own_shape(const char *path, const crystfel *geom, int64_t shape[3])
{
    shape[0] = shape[1] = shape[2] = 1;
    for (int64_t i = 0; i < geom->n_panels; i++) {
        layout l;
        TRY(find_layout(path, &geom->panels[i], &l));
        for (int d = 0; d < 3; d++) {
            int64_t need = reach(&geom->panels[i], l.dims[d]);
            if (need > shape[d]) shape[d] = need;
        }
    }
    return STATUS_OK;
}

/* Panels may leave rows and columns of an image at its ends without a pixel. */
static status choose_shape(const geometry_settings *set, const geometry_images *images,
                           const crystfel *geom, int64_t shape[3])
{
    int64_t own[3];
    TRY(own_shape(set->file, geom, own));
    if (!images || (images->shape[0] == 1 && images->shape[1] == 1))
        return geometry_shape(set, images, own, shape);
    for (int d = 0; d < 3; d++) {
        shape[d] = images->shape[d];
        if (own[d] > shape[d])
            FAIL(STATUS_INPUT,
                 "%s: its panels lie in images of %lld x %lld x %lld pixels (modules, slow, fast), "
                 "but those of %s have %lld x %lld x %lld",
                 set->file, (long long)own[0], (long long)own[1], (long long)own[2], images->path,
                 (long long)images->shape[0], (long long)images->shape[1],
                 (long long)images->shape[2]);
    }
    return STATUS_OK;
}

static void place_in_image(const crystfel_panel *p, const layout *l, const int64_t shape[3],
                           panel *to)
{
    int64_t stride = 1, at = 0;
    for (int d = 2; d >= 0; d--) {
        if (l->dims[d] == CRYSTFEL_DIM_SS) {
            to->stride_ss = stride;
            at += p->min_ss * stride;
        } else if (l->dims[d] == CRYSTFEL_DIM_FS) {
            to->stride_fs = stride;
            at += p->min_fs * stride;
        } else if (l->dims[d] >= 0) {
            at += l->dims[d] * stride;
        }
        stride *= shape[d];
    }
    to->at = at;
    to->n_fs = p->max_fs - p->min_fs + 1;
    to->n_ss = p->max_ss - p->min_ss + 1;
}

/* ---- places ---- */

/* A literal, or the mean of what the images' file has at the path; NAN where nothing is given.  The
   setting can stand for it. */
static status resolve(const geometry_settings *set, const geometry_images *images,
                      const crystfel_value *value, const char *setting, double *number)
{
    *number = value->number;
    if (!*value->path) return STATUS_OK;
    if (!images || !images->file)
        FAIL(STATUS_CONFIG,
             "%s takes a number from %s in the file of images, which is not HDF5 or not given; set "
             "geometry.%s",
             set->file, value->path, setting);
    double *list = NULL, sum = 0;
    int64_t n = 0;
    TRY(h5_read_list(images->file, value->path, &list, &n));
    for (int64_t i = 0; i < n; i++)
        sum += list[i];
    free(list);
    *number = sum / (double)n * value->unit;
    return STATUS_OK;
}

static status find_wavelength(const geometry_settings *set, const geometry_images *images,
                              const crystfel *geom, double *wavelength)
{
    double energy = NAN, found = NAN;
    if (!(set->wavelength > 0)) {
        TRY(resolve(set, images, &geom->photon_energy, "photon_energy (eV)", &energy));
        TRY(resolve(set, images, &geom->wavelength, "photon_energy (eV)", &found));
    }
    if (energy > 0) found = PHYSICS_HC / energy;
    return geometry_wavelength(set, found > 0 ? found : 0, wavelength);
}

/* The corner of the first pixel is half a step along both axes before its centre. */
static status place_in_space(const geometry_settings *set, const geometry_images *images,
                             const crystfel *geom, const crystfel_panel *p, panel *to)
{
    double clen = set->distance;
    if (!(clen > 0)) TRY(resolve(set, images, &p->clen, "distance (mm)", &clen));
    if (isnan(clen))
        FAIL(STATUS_CONFIG,
             "%s: panel '%s' has no clen, the distance along the beam; set geometry.distance (mm)",
             set->file, p->name);
    const double corner[3] = {p->corner[0], p->corner[1], 0};
    const double shift[3] = {geom->shift[0], geom->shift[1], clen + p->coffset};
    for (int d = 0; d < 3; d++) {
        to->fs[d] = p->fs[d] / p->res;
        to->ss[d] = p->ss[d] / p->res;
        to->first[d] = (corner[d] + 0.5 * (p->fs[d] + p->ss[d])) / p->res + shift[d];
    }
    if (!(to->first[2] > 0))
        FAIL(STATUS_INPUT, "%s: panel '%s' is at %g m along the beam (clen %g m, coffset %g m)",
             set->file, p->name, to->first[2], clen, p->coffset);
    return STATUS_OK;
}

/* ---- pixels that are not good ---- */

static bool is_within(double value, double low, double high)
{
    return !(value < low) && !(value > high); /* a limit that is not given is NAN */
}

static bool is_in_region(const crystfel_bad *bad, const crystfel_panel *p, int64_t ss, int64_t fs)
{
    if (*bad->panel && strcmp(bad->panel, p->name) != 0) return false;
    if (bad->in_panel)
        return is_within((double)(p->min_fs + fs), bad->min_fs, bad->max_fs) &&
               is_within((double)(p->min_ss + ss), bad->min_ss, bad->max_ss);
    double at[2];
    for (int d = 0; d < 2; d++)
        at[d] = p->corner[d] + ((double)fs + 0.5) * p->fs[d] + ((double)ss + 0.5) * p->ss[d];
    return is_within(at[0], bad->min_x, bad->max_x) && is_within(at[1], bad->min_y, bad->max_y);
}

static void mask_regions(const crystfel *geom, const crystfel_panel *p, const panel *placed,
                         uint8_t *mask)
{
    for (int64_t i = 0; i < placed->n_ss * placed->n_fs; i++) {
        const int64_t ss = i / placed->n_fs, fs = i % placed->n_fs;
        bool bad = p->no_index;
        for (int64_t b = 0; b < geom->n_bad && !bad; b++)
            bad = is_in_region(&geom->bad[b], p, ss, fs);
        if (bad) mask[placed->at + ss * placed->stride_ss + fs * placed->stride_fs] = 0;
    }
}

static bool has_flags(const crystfel_panel *p)
{
    return !isnan(p->less) || !isnan(p->more) || !isnan(p->equal);
}

static status set_flags(const crystfel *geom, const panel *placed, detector *det)
{
    bool any = false;
    for (int64_t i = 0; i < geom->n_panels; i++)
        any = any || has_flags(&geom->panels[i]);
    if (!any) return STATUS_OK;
    det->flags = malloc((size_t)(3 * det->n_pixels) * sizeof *det->flags);
    if (!det->flags) FAIL(STATUS_RESOURCE, "no memory for flags of pixels");
    for (int64_t i = 0; i < 3 * det->n_pixels; i++)
        det->flags[i] = NAN;
    for (int64_t i = 0; i < geom->n_panels; i++) {
        const crystfel_panel *p = &geom->panels[i];
        const panel *at = &placed[i];
        for (int64_t k = 0; k < at->n_ss * at->n_fs; k++) {
            float *flags = det->flags + 3 * (at->at + k / at->n_fs * at->stride_ss +
                                             k % at->n_fs * at->stride_fs);
            flags[0] = (float)p->less;
            flags[1] = (float)p->more;
            flags[2] = (float)p->equal;
        }
    }
    return STATUS_OK;
}

/* Masks of the first panel are those of all: they cover the whole image. */
static status mask_by_bits(const geometry_settings *set, const geometry_images *images,
                           const crystfel_mask *rule, detector *det)
{
    h5_reader *own = NULL;
    if (!*rule->data) return STATUS_OK;
    if (*rule->file) TRY(h5_open(rule->file, &own));
    if (!own && !images->file) {
        log_warning("%s: mask %s is not applied: %s is no HDF5 file", set->file, rule->data,
                    images->path);
        return STATUS_OK;
    }
    status result = h5_apply_mask(own ? own : images->file, rule->data, det->shape, rule->good,
                                  rule->bad, det->mask);
    h5_close(own);
    return result;
}

static status check_alike(const geometry_settings *set, const crystfel *geom)
{
    const crystfel_panel *first = &geom->panels[0];
    for (int64_t i = 1; i < geom->n_panels; i++) {
        const crystfel_panel *p = &geom->panels[i];
        if (strcmp(p->data, first->data) != 0 ||
            memcmp(p->masks, first->masks, sizeof p->masks) != 0)
            FAIL(STATUS_INPUT,
                 "%s: panels '%s' and '%s' are in different datasets or have different masks; all "
                 "must be in one",
                 set->file, first->name, p->name);
    }
    return STATUS_OK;
}

static void warn(const geometry_settings *set, const crystfel *geom)
{
    const crystfel_panel *p = &geom->panels[0];
    if (geom->has_saturation_map)
        log_info("%s: its saturation_map is not used; flag_morethan is", set->file);
    if ((p->adu_per_photon > 0 && p->adu_per_photon != 1) || p->adu_per_ev > 0)
        log_info(
            "%s gives detector units (adu_per_photon, adu_per_eV); if the images have them, set "
            "data.units_per_photon",
            set->file);
}

static status place_panels(const geometry_settings *set, const geometry_images *images,
                           const crystfel *geom, const int64_t shape[3], panel *placed)
{
    for (int64_t i = 0; i < geom->n_panels; i++) {
        layout l;
        TRY(find_layout(set->file, &geom->panels[i], &l));
        place_in_image(&geom->panels[i], &l, shape, &placed[i]);
        TRY(place_in_space(set, images, geom, &geom->panels[i], &placed[i]));
    }
    return STATUS_OK;
}

static status apply(const geometry_settings *set, const geometry_images *images,
                    const crystfel *geom, detector **det)
{
    int64_t shape[3];
    double wavelength;
    TRY(check_alike(set, geom));
    TRY(choose_shape(set, images, geom, shape));
    TRY(find_wavelength(set, images, geom, &wavelength));
    panel *placed = calloc((size_t)geom->n_panels, sizeof *placed);
    if (!placed) FAIL(STATUS_RESOURCE, "%s: no memory for its panels", set->file);
    status result = STATUS_OK;
    TRY_OR(done, place_panels(set, images, geom, shape, placed));
    TRY_OR(done, status_prefix(detector_from_panels(placed, geom->n_panels, shape, wavelength,
                                                    set->polarized, det),
                               "%s", set->file));
    for (int64_t i = 0; i < geom->n_panels; i++)
        mask_regions(geom, &geom->panels[i], &placed[i], (*det)->mask);
    for (int m = 0; m < CRYSTFEL_MASKS && images; m++)
        TRY_OR(done, mask_by_bits(set, images, &geom->panels[0].masks[m], *det));
    TRY_OR(done, status_prefix(set_flags(geom, placed, *det), "%s", set->file));
    if (images) warn(set, geom);
done:
    free(placed);
    return result;
}

static status crystfel_read(const geometry_settings *set, const geometry_images *images,
                            detector **det)
{
    char *text = NULL;
    size_t size;
    crystfel geom = {0};
    TRY(text_load(set->file, &text, &size));
    status result = crystfel_parse(set->file, text, &geom);
    if (result == STATUS_OK) result = apply(set, images, &geom, det);
    crystfel_free(&geom);
    free(text);
    if (result == STATUS_OK) return STATUS_OK;
    detector_destroy(*det);
    *det = NULL;
    return result;
}

const geometry_format geometry_crystfel = {
    .name = "geometry of CrystFEL", .recognize = crystfel_recognize, .read = crystfel_read};
