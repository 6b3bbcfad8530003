/* Panel vectors in JSON, as reborn writes them: a list of maps with fs_vec, ss_vec (m, to the next
   pixel), t_vec (m, the centre of the first pixel), n_fs, n_ss, and optionally parent_data_shape
   [rows, columns] and parent_data_slice [[row, end, step], [column, end, step]].  Without slices
   panels follow one another in the images.  JSON is read as the YAML that it is. */
#include "geometry_format.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "text.h"
#include "text_file.h"

enum { MAX_PANELS = 100000, MAX_SIDE = 1 << 24, MAX_BYTES = 64 << 20 };

typedef struct reader {
    const char *path;
    yaml_document_t document;
} reader;

static bool json_recognize(const char *path)
{
    char begin[256];
    size_t n = text_begin(path, begin, sizeof begin), i = 0;
    while (i < n && isspace((unsigned char)begin[i]))
        i++;
    if (i == n || (begin[i] != '[' && begin[i] != '{')) return false;
    for (i++; i < n && isspace((unsigned char)begin[i]);)
        i++;
    return i < n && (begin[i] == '{' || begin[i] == '"');
}

static yaml_node_t *node_at(reader *r, int index)
{
    return yaml_document_get_node(&r->document, index);
}

static int64_t length_of(const yaml_node_t *list)
{
    if (!list || list->type != YAML_SEQUENCE_NODE) return -1;
    return list->data.sequence.items.top - list->data.sequence.items.start;
}

static yaml_node_t *item_of(reader *r, const yaml_node_t *list, int64_t i)
{
    return node_at(r, list->data.sequence.items.start[i]);
}

/* NULL where the map has no such key. */
static yaml_node_t *value_of(reader *r, const yaml_node_t *map, const char *key)
{
    if (!map || map->type != YAML_MAPPING_NODE) return NULL;
    for (const yaml_node_pair_t *pair = map->data.mapping.pairs.start;
         pair < map->data.mapping.pairs.top; pair++) {
        const yaml_node_t *name = node_at(r, pair->key);
        if (name && name->type == YAML_SCALAR_NODE &&
            strcmp((const char *)name->data.scalar.value, key) == 0)
            return node_at(r, pair->value);
    }
    return NULL;
}

static bool number_of(const yaml_node_t *node, double *number)
{
    return node && node->type == YAML_SCALAR_NODE &&
           text_double((const char *)node->data.scalar.value, number) == TEXT_NUMBER_OK;
}

static bool is_null(const yaml_node_t *node)
{
    return !node || (node->type == YAML_SCALAR_NODE &&
                     strcmp((const char *)node->data.scalar.value, "null") == 0);
}

static status read_vector(reader *r, const yaml_node_t *map, int64_t number, const char *key,
                          double v[3])
{
    const yaml_node_t *list = value_of(r, map, key);
    bool good = length_of(list) == 3;
    for (int d = 0; d < 3 && good; d++)
        good = number_of(item_of(r, list, d), &v[d]);
    if (!good)
        FAIL(STATUS_INPUT, "%s: panel %lld has no %s of three numbers", r->path, (long long)number,
             key);
    return STATUS_OK;
}

static bool integer_of(const yaml_node_t *node, int64_t least, int64_t *value)
{
    double number;
    if (!number_of(node, &number) || number != floor(number)) return false;
    if (number < (double)least || number > MAX_SIDE) return false;
    *value = (int64_t)number;
    return true;
}

/* Two integers of a list, from the front of each of its items if these are lists themselves. */
static bool pair_of(reader *r, const yaml_node_t *list, int64_t least, int64_t pair[2])
{
    if (length_of(list) != 2) return false;
    for (int d = 0; d < 2; d++) {
        const yaml_node_t *item = item_of(r, list, d);
        if (length_of(item) > 0) item = item_of(r, item, 0);
        if (!integer_of(item, least, &pair[d])) return false;
    }
    return true;
}

/* Where the panel is in a parent image; parent 0: it follows the one before. */
static status read_slice(reader *r, const yaml_node_t *map, int64_t number, panel *to,
                         int64_t parent[2])
{
    int64_t first[2];
    const yaml_node_t *slice = value_of(r, map, "parent_data_slice");
    const yaml_node_t *shape = value_of(r, map, "parent_data_shape");
    parent[0] = parent[1] = 0;
    if (is_null(slice)) return STATUS_OK;
    if (!pair_of(r, shape, 1, parent) || !pair_of(r, slice, 0, first) ||
        first[0] + to->n_ss > parent[0] || first[1] + to->n_fs > parent[1])
        FAIL(
            STATUS_INPUT,
            "%s: panel %lld of %lld x %lld pixels has a parent_data_slice that is not [[row, ...], "
            "[column, ...]] within a parent_data_shape [rows, columns]",
            r->path, (long long)number, (long long)to->n_ss, (long long)to->n_fs);
    to->at = first[0] * parent[1] + first[1];
    to->stride_ss = parent[1];
    return STATUS_OK;
}

static status read_panel(reader *r, const yaml_node_t *map, int64_t number, panel *to,
                         int64_t parent[2])
{
    TRY(read_vector(r, map, number, "fs_vec", to->fs));
    TRY(read_vector(r, map, number, "ss_vec", to->ss));
    TRY(read_vector(r, map, number, "t_vec", to->first));
    if (!integer_of(value_of(r, map, "n_fs"), 1, &to->n_fs) ||
        !integer_of(value_of(r, map, "n_ss"), 1, &to->n_ss))
        FAIL(STATUS_INPUT, "%s: panel %lld has no n_fs and n_ss of 1 to %d", r->path,
             (long long)number, MAX_SIDE);
    to->stride_fs = 1;
    to->stride_ss = to->n_fs;
    return read_slice(r, map, number, to, parent);
}

/* All panels with slices of the same parent, or all without; the shape of an image of them. */
static status read_panels(reader *r, const yaml_node_t *list, int64_t n, panel *panels,
                          int64_t shape[3])
{
    int64_t parent[2], first[2] = {0}, total = 0;
    bool alike = true;
    for (int64_t i = 0; i < n; i++) {
        TRY(read_panel(r, item_of(r, list, i), i, &panels[i], parent));
        if (i == 0) memcpy(first, parent, sizeof first);
        if (memcmp(first, parent, sizeof first) != 0)
            FAIL(STATUS_INPUT, "%s: panel %lld is in another parent image than panel 0", r->path,
                 (long long)i);
        if (parent[0] == 0) panels[i].at = total;
        total += panels[i].n_fs * panels[i].n_ss;
        if (total > INT32_MAX) FAIL(STATUS_INPUT, "%s: more than 2^31 pixels", r->path);
        alike = alike && panels[i].n_fs == panels[0].n_fs && panels[i].n_ss == panels[0].n_ss;
    }
    shape[0] = first[0] > 0 ? 1 : alike ? n : 1;
    shape[1] = first[0] > 0 ? first[0] : alike ? panels[0].n_ss : 1;
    shape[2] = first[0] > 0 ? first[1] : alike ? panels[0].n_fs : total;
    return STATUS_OK;
}

static status build(const geometry_settings *set, const geometry_images *images, panel *panels,
                    int64_t n, const int64_t own[3], detector **det)
{
    int64_t shape[3];
    double wavelength;
    TRY(geometry_shape(set, images, own, shape));
    TRY(geometry_wavelength(set, 0, &wavelength));
    for (int64_t i = 0; i < n; i++) {
        panels[i].first[2] += set->distance;
        if (!(panels[i].first[2] > 0))
            FAIL(STATUS_CONFIG,
                 "%s: panel %lld is at %g m along the beam; geometry.distance (mm) adds to it",
                 set->file, (long long)i, panels[i].first[2]);
    }
    return status_prefix(detector_from_panels(panels, n, shape, wavelength, set->polarized, det),
                         "%s", set->file);
}

static status read_document(reader *r, const geometry_settings *set, const geometry_images *images,
                            detector **det)
{
    const yaml_node_t *root = yaml_document_get_root_node(&r->document);
    const int64_t n = length_of(root);
    int64_t own[3];
    if (n < 1 || n > MAX_PANELS)
        FAIL(STATUS_INPUT, "%s: expected a list of 1 to %d panels", r->path, MAX_PANELS);
    panel *panels = calloc((size_t)n, sizeof *panels);
    if (!panels) FAIL(STATUS_RESOURCE, "%s: no memory for its panels", r->path);
    status result = read_panels(r, root, n, panels, own);
    if (result == STATUS_OK) result = build(set, images, panels, n, own, det);
    free(panels);
    return result;
}

static status parse(reader *r, const char *text, size_t size)
{
    yaml_parser_t parser;
    if (size > MAX_BYTES) FAIL(STATUS_INPUT, "%s: %zu bytes, more than 64 MB", r->path, size);
    if (!yaml_parser_initialize(&parser)) FAIL(STATUS_RESOURCE, "%s: no memory", r->path);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    const bool loaded = yaml_parser_load(&parser, &r->document);
    const long long line = (long long)parser.problem_mark.line + 1;
    const char *problem = parser.problem ? parser.problem : "it is no JSON";
    if (!loaded) (void)FAILED(STATUS_INPUT, "%s:%lld: %s", r->path, line, problem);
    yaml_parser_delete(&parser);
    return loaded ? STATUS_OK : STATUS_INPUT;
}

static status json_read(const geometry_settings *set, const geometry_images *images, detector **det)
{
    reader r = {.path = set->file};
    char *text = NULL;
    size_t size;
    TRY(text_load(set->file, &text, &size));
    status result = parse(&r, text, size);
    free(text);
    TRY(result);
    result = read_document(&r, set, images, det);
    yaml_document_delete(&r.document);
    return result;
}

const geometry_format geometry_json = {
    .name = "panel vectors (JSON)", .recognize = json_recognize, .read = json_read};
