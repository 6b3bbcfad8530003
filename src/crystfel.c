#include "crystfel.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "text.h"
#include "text_file.h"

enum { MAX_PANELS = 100000, MAX_INDEX = 1 << 24 };

typedef struct parser {
    const char *name;
    crystfel *geom;
    int64_t line;
} parser;

#define FAIL_HERE(p, ...)                                                         \
    return status_prefix(FAILED(STATUS_INPUT, __VA_ARGS__), "%s:%lld", (p)->name, \
                         (long long)(p)->line)

/* ---- values ---- */

/* The number that `text` begins with, and what follows it; false if there is none. */
static bool take_number(const char *text, double *number, const char **rest)
{
    char digits[64];
    *number = 0;
    *rest = text;
    size_t n = strspn(text, "+-");
    n += strspn(text + n, "0123456789.");
    if ((text[n] == 'e' || text[n] == 'E') && n > 0) {
        size_t sign = text[n + 1] == '+' || text[n + 1] == '-';
        size_t exponent = strspn(text + n + 1 + sign, "0123456789");
        if (exponent > 0) n += 1 + sign + exponent;
    }
    if (n >= sizeof digits) return false;
    memcpy(digits, text, n);
    digits[n] = 0;
    *rest = text + n;
    return text_double(digits, number) == TEXT_NUMBER_OK;
}

static status real_of(const parser *p, const char *value, double *number)
{
    const char *rest;
    if (!take_number(value, number, &rest) || *rest) FAIL_HERE(p, "'%.40s' is no number", value);
    return STATUS_OK;
}

/* Old files have 0.0 and 193.0 as indices. */
static status index_of(const parser *p, const char *value, int64_t *number)
{
    double given = 0;
    TRY(real_of(p, value, &given));
    if (!(given >= 0 && given <= MAX_INDEX) || given != floor(given))
        FAIL_HERE(p, "'%.40s' is no index of 0 to %d", value, MAX_INDEX);
    *number = (int64_t)given;
    return STATUS_OK;
}

static status text_of(const parser *p, const char *value, size_t size, char *text)
{
    if (strlen(value) >= size)
        FAIL_HERE(p, "a text of %zu characters; at most %zu are possible", strlen(value), size - 1);
    snprintf(text, size, "%s", value);
    return STATUS_OK;
}

static status bits_of(const parser *p, const char *value, uint32_t *bits)
{
    char *end;
    unsigned long long number = strtoull(value, &end, 0);
    if (end == value || *end || *value == '-' || number > UINT32_MAX)
        FAIL_HERE(p, "'%.40s' are no 32 bits, such as 0xff01", value);
    *bits = (uint32_t)number;
    return STATUS_OK;
}

/* "+0.0048x -0.9999y", "x", "-y+0.1z" */
static status vector_of(const parser *p, const char *value, double v[3])
{
    const char *at = value;
    bool seen = false;
    v[0] = v[1] = v[2] = 0;
    for (at += strspn(at, " \t"); *at; at += strspn(at, " \t")) {
        double factor = 1;
        const char *rest = at;
        if (*at == '+' || *at == '-') {
            factor = *at == '-' ? -1 : 1;
            at += 1 + strspn(at + 1, " \t");
        }
        double number = 1;
        if (isdigit((unsigned char)*at) || *at == '.') {
            if (!take_number(at, &number, &rest)) FAIL_HERE(p, "'%.60s' is no vector", value);
            at = rest + strspn(rest, " \t");
        }
        if (*at < 'x' || *at > 'z')
            FAIL_HERE(p, "'%.60s' is no vector, such as +0.01x -1.0y", value);
        v[*at++ - 'x'] += factor * number;
        seen = true;
    }
    if (!seen) FAIL_HERE(p, "an empty vector");
    return STATUS_OK;
}

typedef struct unit {
    const char *name;
    double factor;
} unit;

/* "0.3 m", "/path", "/path mm": in the first unit's terms.  The factors of no unit at all, for a
   number and for a path, are those of the units called "" and "/". */
static status value_of(const parser *p, const char *value, const unit *units, crystfel_value *to)
{
    const char *rest = value;
    char path[CRYSTFEL_PATH] = "";
    double number = NAN;
    if (*value == '/') {
        size_t n = strcspn(value, " \t");
        if (n >= sizeof path) FAIL_HERE(p, "a path of %zu characters", n);
        memcpy(path, value, n);
        rest = value + n;
    } else if (!take_number(value, &number, &rest)) {
        FAIL_HERE(p, "'%.60s' is neither a number nor a path in the file of images", value);
    }
    rest += strspn(rest, " \t");
    if (!*rest) rest = *path ? "/" : "";
    for (const unit *u = units; u->name; u++)
        if (strcmp(rest, u->name) == 0) {
            to->number = number * u->factor;
            to->unit = u->factor;
            memcpy(to->path, path, sizeof path);
            return STATUS_OK;
        }
    FAIL_HERE(p, "'%.60s' has a unit that is not known here", value);
}

static const unit lengths[] = {{"", 1}, {"/", 1e-3}, {"m", 1}, {"mm", 1e-3}, {NULL, 0}};
static const unit energies[] = {{"", 1},      {"/", 1},     {"eV", 1},
                                {"keV", 1e3}, {"MeV", 1e6}, {NULL, 0}};
static const unit wavelengths[] = {{"", 1e10}, {"/", 1e10}, {"m", 1e10}, {"A", 1}, {NULL, 0}};

/* ---- keys of panels ---- */

static status set_dim(const parser *p, const char *key, const char *value, crystfel_panel *to)
{
    if (strlen(key) != 4 || key[3] < '0' || key[3] >= '0' + CRYSTFEL_DIMS)
        FAIL_HERE(p, "'%.40s': dim0 to dim%d are possible", key, CRYSTFEL_DIMS - 1);
    int *dim = &to->dims[key[3] - '0'];
    int64_t number = 0;
    if (strcmp(value, "%") == 0)
        *dim = CRYSTFEL_DIM_EVENT;
    else if (strcmp(value, "ss") == 0)
        *dim = CRYSTFEL_DIM_SS;
    else if (strcmp(value, "fs") == 0)
        *dim = CRYSTFEL_DIM_FS;
    else {
        TRY(index_of(p, value, &number));
        *dim = (int)number;
    }
    return STATUS_OK;
}

/* mask, mask_file, mask_good, mask_bad; mask3, mask3_data, mask3_goodbits, ... */
static status set_mask(const parser *p, const char *key, const char *value, crystfel_panel *to)
{
    const char *what = key + strlen("mask");
    int number = 0;
    if (*what >= '0' && *what < '0' + CRYSTFEL_MASKS) number = *what++ - '0';
    crystfel_mask *mask = &to->masks[number];
    if (!*what || strcmp(what, "_data") == 0)
        return text_of(p, value, sizeof mask->data, mask->data);
    if (strcmp(what, "_file") == 0) return text_of(p, value, sizeof mask->file, mask->file);
    if (strcmp(what, "_good") == 0 || strcmp(what, "_goodbits") == 0)
        return bits_of(p, value, &mask->good);
    if (strcmp(what, "_bad") == 0 || strcmp(what, "_badbits") == 0)
        return bits_of(p, value, &mask->bad);
    FAIL_HERE(p, "'%.40s' is not known", key);
}

/* Keys that say nothing of where pixels are and which are good. */
static bool is_ignored(const char *key)
{
    static const char *const keys[] = {"badrow_direction",  "max_adu",        "peak_sep",
                                       "integr_radius",     "peak_list",      "peak_list_type",
                                       "bandwidth",         "rail_direction", "clen_for_centering",
                                       "peak_info_location"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0) return true;
    return strncmp(key, "group", 5) == 0 || strncmp(key, "rigid_group", 11) == 0 ||
           strncmp(key, "dim_structure", 13) == 0;
}

/* Values that make a pixel bad in an image. */
static status set_flag(const parser *p, const char *key, const char *value, crystfel_panel *to)
{
    const char *which = key + strlen("flag_");
    double *limit = strcmp(which, "lessthan") == 0   ? &to->less
                    : strcmp(which, "morethan") == 0 ? &to->more
                    : strcmp(which, "equal") == 0    ? &to->equal
                                                     : NULL;
    if (!limit) FAIL_HERE(p, "'%.40s' is not known", key);
    return real_of(p, value, limit);
}

static status set_range(const parser *p, const char *key, const char *value, crystfel_panel *to)
{
    int64_t *index = strcmp(key, "min_fs") == 0   ? &to->min_fs
                     : strcmp(key, "max_fs") == 0 ? &to->max_fs
                     : strcmp(key, "min_ss") == 0 ? &to->min_ss
                                                  : &to->max_ss;
    return index_of(p, value, index);
}

static status set_of_panel(const parser *p, const char *key, const char *value, crystfel_panel *to)
{
    double number = 0;
    if (strlen(key) == 6 && (strncmp(key, "min_", 4) == 0 || strncmp(key, "max_", 4) == 0) &&
        (strcmp(key + 4, "fs") == 0 || strcmp(key + 4, "ss") == 0))
        return set_range(p, key, value, to);
    if (strcmp(key, "fs") == 0) return vector_of(p, value, to->fs);
    if (strcmp(key, "ss") == 0) return vector_of(p, value, to->ss);
    if (strcmp(key, "corner_x") == 0) return real_of(p, value, &to->corner[0]);
    if (strcmp(key, "corner_y") == 0) return real_of(p, value, &to->corner[1]);
    if (strcmp(key, "res") == 0) return real_of(p, value, &to->res);
    if (strcmp(key, "coffset") == 0) return real_of(p, value, &to->coffset);
    if (strcmp(key, "clen") == 0) return value_of(p, value, lengths, &to->clen);
    if (strcmp(key, "data") == 0) return text_of(p, value, sizeof to->data, to->data);
    if (strcmp(key, "adu_per_photon") == 0) return real_of(p, value, &to->adu_per_photon);
    if (strcmp(key, "adu_per_eV") == 0) return real_of(p, value, &to->adu_per_ev);
    if (strncmp(key, "dim", 3) == 0 && isdigit((unsigned char)key[3]))
        return set_dim(p, key, value, to);
    if (strncmp(key, "mask", 4) == 0) return set_mask(p, key, value, to);
    if (strncmp(key, "flag_", 5) == 0) return set_flag(p, key, value, to);
    if (strcmp(key, "no_index") == 0) {
        TRY(real_of(p, value, &number));
        to->no_index = number != 0;
        return STATUS_OK;
    }
    if (strcmp(key, "saturation_map") == 0 || strcmp(key, "saturation_map_file") == 0) {
        p->geom->has_saturation_map = true;
        return STATUS_OK;
    }
    if (is_ignored(key)) return STATUS_OK;
    FAIL_HERE(p, "'%.40s' is not known", key);
}

/* ---- keys of regions ---- */

static status set_of_bad(const parser *p, const char *key, const char *value, crystfel_bad *to)
{
    const struct {
        const char *key;
        double *number;
    } limits[] = {{"min_x", &to->min_x},   {"max_x", &to->max_x},   {"min_y", &to->min_y},
                  {"max_y", &to->max_y},   {"min_fs", &to->min_fs}, {"max_fs", &to->max_fs},
                  {"min_ss", &to->min_ss}, {"max_ss", &to->max_ss}};
    if (strcmp(key, "panel") == 0) return text_of(p, value, sizeof to->panel, to->panel);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (strcmp(key, limits[i].key) != 0) continue;
        to->in_panel = to->in_panel || i >= 4;
        return real_of(p, value, limits[i].number);
    }
    FAIL_HERE(p, "'%.40s' is not known for a bad region", key);
}

static status find_bad(const parser *p, const char *name, crystfel_bad **found)
{
    crystfel *g = p->geom;
    for (int64_t i = 0; i < g->n_bad; i++)
        if (strcmp(g->bad[i].name, name) == 0) {
            *found = &g->bad[i];
            return STATUS_OK;
        }
    if (g->n_bad == MAX_PANELS) FAIL_HERE(p, "more than %d bad regions", MAX_PANELS);
    TRY(array_grow((void **)&g->bad, &g->bad_capacity, g->n_bad, sizeof *g->bad));
    *found = &g->bad[g->n_bad];
    **found = (crystfel_bad){.min_x = NAN, .max_x = NAN, .min_y = NAN, .max_y = NAN};
    (*found)->min_fs = (*found)->max_fs = (*found)->min_ss = (*found)->max_ss = NAN;
    TRY(text_of(p, name, sizeof(*found)->name, (*found)->name));
    g->n_bad++;
    return STATUS_OK;
}

static status find_panel(const parser *p, const char *name, crystfel_panel **found)
{
    crystfel *g = p->geom;
    for (int64_t i = g->n_panels - 1; i >= 0; i--)
        if (strcmp(g->panels[i].name, name) == 0) {
            *found = &g->panels[i];
            return STATUS_OK;
        }
    if (g->n_panels == MAX_PANELS) FAIL_HERE(p, "more than %d panels", MAX_PANELS);
    TRY(array_grow((void **)&g->panels, &g->panel_capacity, g->n_panels, sizeof *g->panels));
    *found = &g->panels[g->n_panels];
    **found = g->defaults;
    TRY(text_of(p, name, sizeof(*found)->name, (*found)->name));
    g->n_panels++;
    return STATUS_OK;
}

/* ---- lines ---- */

static status set_top(const parser *p, const char *key, const char *value)
{
    crystfel *g = p->geom;
    crystfel_value shift = {0};
    if (strcmp(key, "photon_energy") == 0) return value_of(p, value, energies, &g->photon_energy);
    if (strcmp(key, "wavelength") == 0) return value_of(p, value, wavelengths, &g->wavelength);
    if (strcmp(key, "electron_voltage") == 0)
        FAIL_HERE(p, "electron_voltage: a geometry for electrons, not for X-rays");
    if (strcmp(key, "detector_shift_x") == 0 || strcmp(key, "detector_shift_y") == 0) {
        TRY(value_of(p, value, lengths, &shift));
        if (*shift.path) FAIL_HERE(p, "a shift that is in another file (%.60s) is not read", value);
        g->shift[key[15] - 'x'] = shift.number;
        return STATUS_OK;
    }
    return set_of_panel(p, key, value, &g->defaults);
}

static status read_line(const parser *p, char *line)
{
    char *equals = strchr(line, '=');
    if (!*line) return STATUS_OK;
    if (!equals) FAIL_HERE(p, "'%.40s': expected name = value", line);
    *equals = 0;
    char *key = text_trim(line), *value = text_trim(equals + 1), *slash = strchr(key, '/');
    if (!slash) return set_top(p, key, value);
    *slash = 0;
    if (!*key || strlen(key) >= CRYSTFEL_NAME || !slash[1])
        FAIL_HERE(p, "'%.40s/%.40s': expected panel/name = value", key, slash + 1);
    if (strncmp(key, "bad", 3) == 0) {
        crystfel_bad *bad = NULL;
        TRY(find_bad(p, key, &bad));
        return set_of_bad(p, slash + 1, value, bad);
    }
    crystfel_panel *panel = NULL;
    TRY(find_panel(p, key, &panel));
    return set_of_panel(p, slash + 1, value, panel);
}

static status check_panel(const parser *p, const crystfel_panel *panel)
{
    const char *lacks = NULL;
    if (panel->min_fs < 0 || panel->max_fs < 0) lacks = "min_fs or max_fs";
    if (panel->min_ss < 0 || panel->max_ss < 0) lacks = "min_ss or max_ss";
    if (isnan(panel->corner[0]) || isnan(panel->corner[1])) lacks = "corner_x or corner_y";
    if (isnan(panel->res)) lacks = "res";
    if (lacks) FAIL(STATUS_INPUT, "%s: panel '%s' has no %s", p->name, panel->name, lacks);
    if (panel->max_fs < panel->min_fs || panel->max_ss < panel->min_ss || !(panel->res > 0))
        FAIL(STATUS_INPUT,
             "%s: panel '%s' has fs %lld to %lld, ss %lld to %lld and res %g; expected ranges from "
             "low to high and pixels per metre",
             p->name, panel->name, (long long)panel->min_fs, (long long)panel->max_fs,
             (long long)panel->min_ss, (long long)panel->max_ss, panel->res);
    return STATUS_OK;
}

static void set_defaults(crystfel *g)
{
    *g = (crystfel){.photon_energy.number = NAN, .wavelength.number = NAN};
    crystfel_panel *d = &g->defaults;
    d->min_fs = d->max_fs = d->min_ss = d->max_ss = -1;
    d->corner[0] = d->corner[1] = d->res = d->clen.number = NAN;
    d->adu_per_photon = d->adu_per_ev = d->less = d->more = d->equal = NAN;
    d->fs[0] = d->ss[1] = 1;
    for (int i = 0; i < CRYSTFEL_DIMS; i++)
        d->dims[i] = CRYSTFEL_DIM_NONE;
}

status crystfel_parse(const char *name, char *text, crystfel *geom)
{
    parser p = {.name = name, .geom = geom};
    text_lines lines = {0};
    lines.at = text;
    set_defaults(geom);
    for (char *line; (line = text_next_line(&lines, ";"));) {
        p.line = lines.number;
        TRY(read_line(&p, line));
    }
    if (geom->n_panels == 0)
        FAIL(STATUS_INPUT, "%s: no panels; expected lines such as p0/min_fs = 0", name);
    for (int64_t i = 0; i < geom->n_panels; i++)
        TRY(check_panel(&p, &geom->panels[i]));
    return STATUS_OK;
}

void crystfel_free(crystfel *geom)
{
    free(geom->panels);
    free(geom->bad);
    *geom = (crystfel){0};
}
