#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io_hdf5_error.h"

struct h5_reader {
    char *path;
    hid_t id;
};

static status check_file(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) FAIL(STATUS_INPUT, "%s: cannot open: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        FAIL(STATUS_INPUT, "%s: is a directory; expected an HDF5 file", path);
    if (info.st_size == 0) FAIL(STATUS_INPUT, "%s: is empty; expected an HDF5 file", path);
    if (access(path, R_OK) != 0) FAIL(STATUS_INPUT, "%s: cannot read: %s", path, strerror(errno));
    if (H5Fis_hdf5(path) == 0) FAIL(STATUS_INPUT, "%s: is not an HDF5 file", path);
    return STATUS_OK;
}

static status open_file(h5_reader *r)
{
    TRY(check_file(r->path));
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    r->id = H5Fopen(r->path, H5F_ACC_RDONLY, access);
    const char *why = r->id < 0 ? h5_reason() : "";
    H5Pclose(access);
    if (r->id < 0) {
        bool locked = strstr(why, "lock file") || strstr(why, "locks available") ||
                      strstr(why, "temporarily unavailable");
        FAIL(STATUS_INPUT, "%s: cannot open: %s%s", r->path, why,
             locked ? " (if no one writes this file, the file system may lack locks: set "
                      "HDF5_USE_FILE_LOCKING=FALSE)"
                    : " (a file cut short or still being written?)");
    }
    return STATUS_OK;
}

status h5_open(const char *path, h5_reader **opened)
{
    *opened = NULL;
    h5_silence();
    h5_reader *r = calloc(1, sizeof *r);
    if (!r) FAIL(STATUS_RESOURCE, "%s: no memory to read it", path);
    r->id = -1;
    r->path = strdup(path);
    status result = STATUS_OK;
    if (!r->path) result = FAILED(STATUS_RESOURCE, "%s: no memory to read it", path);
    if (result == STATUS_OK) result = open_file(r);
    if (result == STATUS_OK)
        *opened = r;
    else
        h5_close(r);
    return result;
}

void h5_close(h5_reader *r)
{
    if (!r) return;
    if (r->id >= 0) H5Fclose(r->id);
    free(r->path);
    free(r);
}

hid_t h5_reader_id(const h5_reader *r)
{
    return r->id;
}

const char *h5_path(const h5_reader *r)
{
    return r->path;
}

/* 1 if there is an object of this name, 0 if not, -1 if the file is too damaged to tell.  Every part
   of the name must exist before the next may be asked for. */
static int look_up(const h5_reader *r, const char *name)
{
    char part[512];
    size_t n = strlen(name);
    if (n == 0 || n >= sizeof part) return 0;
    for (size_t i = 1; i <= n; i++) {
        if (name[i] != '/' && name[i] != 0) continue;
        snprintf(part, sizeof part, "%.*s", (int)i, name);
        htri_t found = H5Lexists(r->id, part, H5P_DEFAULT);
        if (found <= 0) return found;
    }
    return H5Oexists_by_name(r->id, name, H5P_DEFAULT);
}

/* What is too damaged to tell counts as there: reading it then fails, instead of doing without. */
bool h5_has(const h5_reader *r, const char *name)
{
    int found = look_up(r, name);
    if (found <= 0) return found < 0;
    hid_t id = H5Oopen(r->id, name, H5P_DEFAULT);
    bool is_other = id >= 0 && H5Iget_type(id) != H5I_DATASET;
    if (id >= 0) H5Oclose(id);
    return !is_other;
}

bool h5_recognize(const char *path)
{
    static const char signature[8] = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
    char begin[8] = "";
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    size_t n = fread(begin, 1, sizeof begin, file);
    fclose(file);
    return n == sizeof begin && memcmp(begin, signature, sizeof begin) == 0;
}

bool h5_file_has(const char *path, const char *name)
{
    h5_reader *r = NULL;
    bool found = h5_recognize(path) && h5_open(path, &r) == STATUS_OK && h5_has(r, name);
    h5_close(r);
    return found;
}

status h5_full_name(const char *given, const char *usual, char *name, size_t size)
{
    const char *text = given && *given ? given : usual;
    int n = snprintf(name, size, "%s%s", *text == '/' ? "" : "/", text);
    if (n >= (int)size)
        FAIL(STATUS_INPUT, "a dataset name of %d characters, at most %zu are possible", n,
             size - 1);
    return STATUS_OK;
}

void h5_describe(const h5_shape *shape, char *text, size_t size)
{
    int n = snprintf(text, size, "(");
    for (int d = 0; d < shape->rank && n >= 0 && (size_t)n < size; d++)
        n += snprintf(text + n, size - (size_t)n, "%s%lld", d ? ", " : "",
                      (long long)shape->dims[d]);
    if (n >= 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, ") %s%d", shape->is_float ? "float" : "int",
                 8 * shape->size);
}

typedef struct listing {
    char text[600];
    size_t length;
    int n_left_out;
} listing;

static herr_t list_object(hid_t root, const char *name, const H5O_info_t *info, void *data)
{
    (void)root;
    listing *list = data;
    if (info->type != H5O_TYPE_DATASET) return 0;
    size_t room = sizeof list->text - list->length;
    if (strlen(name) + 4 > room) {
        list->n_left_out++;
        return list->n_left_out > 1000;
    }
    list->length +=
        (size_t)snprintf(list->text + list->length, room, "%s/%s", list->length ? ", " : "", name);
    return 0;
}

static status missing_dataset(const h5_reader *r, const char *name)
{
    listing list = {.text = ""};
    H5Ovisit(r->id, H5_INDEX_NAME, H5_ITER_INC, list_object, &list);
    FAIL(STATUS_INPUT, "%s: no dataset '%s'; the file holds %s%s", r->path, name,
         list.length ? list.text : "none", list.n_left_out ? ", ..." : "");
}

static status open_dataset(const h5_reader *r, const char *name, hid_t *dataset)
{
    if (!h5_has(r, name)) return missing_dataset(r, name);
    *dataset = H5Dopen2(r->id, name, H5P_DEFAULT);
    if (*dataset < 0)
        FAIL(STATUS_INPUT, "%s: cannot open dataset '%s': %s", r->path, name, h5_reason());
    return STATUS_OK;
}

static status get_type(const h5_reader *r, const char *name, hid_t dataset, h5_shape *shape)
{
    hid_t type = H5Dget_type(dataset);
    H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    size_t size = type < 0 ? 0 : H5Tget_size(type);
    if (type >= 0) H5Tclose(type);
    shape->is_float = class == H5T_FLOAT;
    shape->size = (int)size;
    if ((class != H5T_FLOAT && class != H5T_INTEGER && class != H5T_ENUM) || size > 16)
        FAIL(STATUS_INPUT, "%s: dataset '%s' does not hold plain numbers (HDF5 type class %d)",
             r->path, name, (int)class);
    return STATUS_OK;
}

static status get_extent(const h5_reader *r, const char *name, hid_t dataset, h5_shape *shape)
{
    hsize_t dims[H5S_MAX_RANK];
    hid_t space = H5Dget_space(dataset);
    shape->rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    bool is_null = space >= 0 && H5Sget_simple_extent_type(space) == H5S_NULL;
    if (shape->rank >= 0) H5Sget_simple_extent_dims(space, dims, NULL);
    if (space >= 0) H5Sclose(space);
    if (shape->rank < 0 || shape->rank > H5_MAX_RANK || is_null)
        FAIL(STATUS_INPUT, "%s: dataset '%s' has rank %d; at most %d can be read", r->path, name,
             shape->rank, H5_MAX_RANK);
    for (int d = 0; d < shape->rank; d++) {
        if (dims[d] > INT64_MAX)
            FAIL(STATUS_INPUT, "%s: dataset '%s' claims a size beyond 63 bits", r->path, name);
        shape->dims[d] = (int64_t)dims[d];
    }
    return STATUS_OK;
}

status h5_get_shape(const h5_reader *r, const char *name, h5_shape *shape)
{
    *shape = (h5_shape){0};
    hid_t dataset = -1;
    TRY(open_dataset(r, name, &dataset));
    status result = get_type(r, name, dataset, shape);
    if (result == STATUS_OK) result = get_extent(r, name, dataset, shape);
    H5Dclose(dataset);
    return result;
}

static status check_shape(const h5_reader *r, const char *name, h5_type type, int rank,
                          const int64_t dims[], const h5_shape *found)
{
    h5_shape wanted = {
        .rank = rank, .is_float = type >= H5_SINGLE, .size = (int)h5_type_size(type)};
    bool same = found->rank == rank && (wanted.is_float || !found->is_float);
    for (int d = 0; d < rank; d++) {
        wanted.dims[d] = dims[d];
        same = same && found->dims[d] == dims[d];
    }
    if (same) return STATUS_OK;
    char found_text[128], wanted_text[128];
    h5_describe(found, found_text, sizeof found_text);
    h5_describe(&wanted, wanted_text, sizeof wanted_text);
    FAIL(STATUS_INPUT, "%s: dataset '%s' is %s; expected %s", r->path, name, found_text,
         wanted_text);
}

/* Storage that lies outside this file would read whatever it names. */
static status check_storage(const h5_reader *r, const char *name, hid_t dataset)
{
    hid_t creation = H5Dget_create_plist(dataset);
    int n_external = creation >= 0 ? H5Pget_external_count(creation) : -1;
    if (creation >= 0) H5Pclose(creation);
    if (n_external != 0)
        FAIL(STATUS_INPUT, "%s: dataset '%s' keeps its data in other files, which is not read",
             r->path, name);
    return STATUS_OK;
}

static status read_selected(const h5_reader *r, const char *name, h5_type type,
                            const h5_shape *shape, int64_t first, int64_t count, hid_t dataset,
                            void *data)
{
    TRY(check_storage(r, name, dataset));
    hid_t file_space = H5Dget_space(dataset), memory_space = H5S_ALL;
    if (shape->rank > 0) {
        hsize_t start[H5_MAX_RANK] = {(hsize_t)first}, block[H5_MAX_RANK];
        for (int d = 0; d < shape->rank; d++)
            block[d] = (hsize_t)shape->dims[d];
        block[0] = (hsize_t)count;
        H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, block, NULL);
        memory_space = H5Screate_simple(shape->rank, block, NULL);
    }
    status result = STATUS_OK;
    if (H5Dread(dataset, h5_memory_type(type), memory_space, file_space, H5P_DEFAULT, data) < 0)
        result = FAILED(STATUS_INPUT, "%s: cannot read dataset '%s': %s (is the file damaged?)",
                        r->path, name, h5_reason());
    if (memory_space != H5S_ALL) H5Sclose(memory_space);
    H5Sclose(file_space);
    return result;
}

status h5_read(const h5_reader *r, const char *name, h5_type type, int rank, const int64_t dims[],
               void *data)
{
    h5_shape shape;
    TRY(h5_get_shape(r, name, &shape));
    TRY(check_shape(r, name, type, rank, dims, &shape));
    return h5_read_rows(r, name, type, 0, rank > 0 ? dims[0] : 1, data);
}

status h5_read_rows(const h5_reader *r, const char *name, h5_type type, int64_t first,
                    int64_t count, void *data)
{
    h5_shape shape;
    TRY(h5_get_shape(r, name, &shape));
    int64_t n_rows = shape.rank > 0 ? shape.dims[0] : 1;
    if (first < 0 || count < 0 || first > n_rows - count)
        FAIL(STATUS_INPUT, "%s: rows %lld to %lld of dataset '%s', which has %lld", r->path,
             (long long)first, (long long)(first + count - 1), name, (long long)n_rows);
    if (shape.is_float && type < H5_SINGLE)
        FAIL(STATUS_INPUT, "%s: dataset '%s' holds floating-point numbers; expected integers",
             r->path, name);
    if (count == 0) return STATUS_OK;
    hid_t dataset = -1;
    TRY(open_dataset(r, name, &dataset));
    status result = read_selected(r, name, type, &shape, first, count, dataset, data);
    H5Dclose(dataset);
    return result;
}

bool h5_has_attribute(const h5_reader *r, const char *object, const char *name)
{
    return look_up(r, object) != 0 && H5Aexists_by_name(r->id, object, name, H5P_DEFAULT) != 0;
}

static status open_attribute(const h5_reader *r, const char *object, const char *name, hid_t *id)
{
    if (!h5_has_attribute(r, object, name))
        FAIL(STATUS_INPUT, "%s: '%s' has no attribute '%s'", r->path, object, name);
    *id = H5Aopen_by_name(r->id, object, name, H5P_DEFAULT, H5P_DEFAULT);
    if (*id < 0)
        FAIL(STATUS_INPUT, "%s: cannot open attribute '%s' of '%s': %s", r->path, name, object,
             h5_reason());
    return STATUS_OK;
}

static int64_t attribute_count(hid_t id)
{
    hid_t space = H5Aget_space(id);
    hssize_t n = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    if (space >= 0) H5Sclose(space);
    return (int64_t)n;
}

static H5T_class_t attribute_class(hid_t id)
{
    hid_t type = H5Aget_type(id);
    H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    if (type >= 0) H5Tclose(type);
    return class;
}

status h5_read_numbers(const h5_reader *r, const char *object, const char *name, h5_type type,
                       int64_t count, void *values)
{
    hid_t id = -1;
    TRY(open_attribute(r, object, name, &id));
    int64_t found = attribute_count(id);
    H5T_class_t class = attribute_class(id);
    bool is_number = class == H5T_FLOAT || class == H5T_INTEGER || class == H5T_ENUM;
    status result = STATUS_OK;
    if (!is_number || found != count)
        result =
            FAILED(STATUS_INPUT, "%s: attribute '%s' of '%s' has %lld %s; expected %lld numbers",
                   r->path, name, object, (long long)found,
                   is_number ? "numbers" : "elements that are no numbers", (long long)count);
    else if (H5Aread(id, h5_memory_type(type), values) < 0)
        result = FAILED(STATUS_INPUT, "%s: cannot read attribute '%s' of '%s': %s", r->path, name,
                        object, h5_reason());
    H5Aclose(id);
    return result;
}

static bool read_variable_text(hid_t id, char *text, size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    char *value = NULL;
    H5Tset_size(type, H5T_VARIABLE);
    hid_t of_file = H5Aget_type(id);
    H5Tset_cset(type, H5Tget_cset(of_file));
    H5Tclose(of_file);
    bool ok = H5Aread(id, type, &value) >= 0 && value;
    if (ok) snprintf(text, size, "%s", value);
    if (value) H5free_memory(value);
    H5Tclose(type);
    return ok;
}

static bool read_fixed_text(hid_t id, size_t length, char *text, size_t size)
{
    char *value = length < (1u << 24) ? calloc(length + 1, 1) : NULL;
    hid_t type = H5Aget_type(id);
    bool ok = value && H5Aread(id, type, value) >= 0;
    if (ok) snprintf(text, size, "%s", value);
    H5Tclose(type);
    free(value);
    return ok;
}

status h5_read_text(const h5_reader *r, const char *object, const char *name, char *text,
                    size_t size)
{
    hid_t id = -1;
    TRY(open_attribute(r, object, name, &id));
    hid_t type = H5Aget_type(id);
    bool is_text = type >= 0 && H5Tget_class(type) == H5T_STRING && attribute_count(id) == 1;
    bool is_variable = is_text && H5Tis_variable_str(type) > 0;
    size_t length = is_text ? H5Tget_size(type) : 0;
    if (type >= 0) H5Tclose(type);
    bool ok = is_text && (is_variable ? read_variable_text(id, text, size)
                                      : read_fixed_text(id, length, text, size));
    H5Aclose(id);
    if (!ok)
        FAIL(STATUS_INPUT, "%s: attribute '%s' of '%s' is not one readable text", r->path, name,
             object);
    return STATUS_OK;
}
