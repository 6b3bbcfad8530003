#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checksum.h"
#include "io_atomic.h"
#include "io_hdf5_error.h"
#include "io_seal.h"

/* Datasets are cut into chunks of at most CHUNK_BYTES, which fit the library's cache; PIECE_BYTES is
   the most that is written, and read back, at once. */
enum { CHUNK_BYTES = 512 << 10, PIECE_BYTES = 16 << 20 };

typedef struct entry {
    char *name;
    h5_type type;
    hid_t dataset; /* kept open: closing would empty its chunk cache */
    int rank;
    int64_t dims[H5_MAX_RANK];
    int64_t n_rows, rows_written;
    size_t row_bytes;
} entry;

/* What was written where, for the comparison at the end. */
typedef struct written {
    int64_t entry, first, count;
    uint64_t checksum;
} written;

struct h5_writer {
    atomic_file *file;
    char *seal; /* the text of io_seal.h; NULL: none */
    hid_t id;
    entry *entries;
    int64_t n_entries;
    written *pieces;
    int64_t n_pieces, capacity;
};

#define FAIL_HDF5(w, what, name)                                                    \
    return status_fail(STATUS_OUTPUT, __FILE__, __LINE__, "%s: cannot %s '%s': %s", \
                       atomic_path((w)->file), what, name, h5_reason())

/* Names and attributes of an object lie in its checksummed header, however many: the heaps that HDF5
   uses for more than eight survive damage worse. */
static void keep_together(hid_t creation, bool is_group)
{
    H5Pset_attr_phase_change(creation, 64, 60);
    if (is_group) H5Pset_link_phase_change(creation, 64, 60);
    H5Pset_obj_track_times(creation, 0);
}

/* Checksummed metadata, and no times: equal calls give equal files. */
static hid_t create_file(const char *name, bool sealed)
{
    hid_t creation = H5Pcreate(H5P_FILE_CREATE), access = H5Pcreate(H5P_FILE_ACCESS);
    keep_together(creation, true);
    if (sealed) H5Pset_userblock(creation, SEAL_SIZE);
    H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    hid_t id = H5Fcreate(name, H5F_ACC_EXCL, creation, access);
    if (id >= 0) {
        H5Pclose(creation);
        H5Pclose(access);
    }
    return id;
}

status h5_create_sealed(const char *path, const char *about, h5_writer **created)
{
    *created = NULL;
    h5_silence();
    h5_writer *w = calloc(1, sizeof *w);
    if (!w) FAIL(STATUS_RESOURCE, "%s: no memory to write it", path);
    w->id = -1;
    status result = STATUS_OK;
    if (about && !(w->seal = strdup(about)))
        result = FAILED(STATUS_RESOURCE, "%s: no memory to write it", path);
    if (result == STATUS_OK) result = atomic_begin(path, &w->file);
    if (result == STATUS_OK) {
        w->id = create_file(atomic_temporary(w->file), about != NULL);
        if (w->id < 0)
            result = status_fail(STATUS_OUTPUT, __FILE__, __LINE__, "%s: cannot create '%s': %s",
                                 path, atomic_temporary(w->file), h5_reason());
    }
    if (result == STATUS_OK)
        *created = w;
    else
        h5_abandon(w);
    return result;
}

status h5_create(const char *path, h5_writer **created)
{
    return h5_create_sealed(path, NULL, created);
}

/* Creates the groups above the last part of an object's name. */
static status create_groups(h5_writer *w, const char *name)
{
    hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
    keep_together(creation, true);
    status result = STATUS_OK;
    for (const char *slash = strchr(name + 1, '/'); slash && result == STATUS_OK;
         slash = strchr(slash + 1, '/')) {
        char group[256];
        snprintf(group, sizeof group, "%.*s", (int)(slash - name), name);
        if (H5Lexists(w->id, group, H5P_DEFAULT) > 0) continue;
        hid_t id = H5Gcreate2(w->id, group, H5P_DEFAULT, creation, H5P_DEFAULT);
        if (id < 0)
            result = status_fail(STATUS_OUTPUT, __FILE__, __LINE__, "%s: cannot create '%s': %s",
                                 atomic_path(w->file), group, h5_reason());
        else
            H5Gclose(id);
    }
    H5Pclose(creation);
    return result;
}

/* Chunks of whole rows where these are small, else of parts of a row. */
static void choose_chunk(const entry *e, hsize_t chunk[H5_MAX_RANK])
{
    size_t bytes = h5_type_size(e->type);
    for (int d = e->rank - 1; d >= 0; d--) {
        size_t fit = CHUNK_BYTES / bytes;
        chunk[d] = (hsize_t)e->dims[d];
        if (fit < 1) fit = 1;
        if (chunk[d] > fit) chunk[d] = fit;
        bytes *= (size_t)chunk[d];
    }
}

/* Only chunks can have checksums; a scalar lies in the header, which has one. */
static hid_t creation_of(const entry *e)
{
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    keep_together(creation, false);
    if (e->rank == 0) {
        H5Pset_layout(creation, H5D_COMPACT);
    } else if (e->row_bytes > 0 && e->n_rows > 0) {
        hsize_t chunk[H5_MAX_RANK];
        choose_chunk(e, chunk);
        H5Pset_chunk(creation, e->rank, chunk);
        H5Pset_fletcher32(creation);
    }
    return creation;
}

static hid_t space_of(const entry *e)
{
    hsize_t dims[H5_MAX_RANK];
    if (e->rank == 0) return H5Screate(H5S_SCALAR);
    for (int d = 0; d < e->rank; d++)
        dims[d] = (hsize_t)e->dims[d];
    return H5Screate_simple(e->rank, dims, NULL);
}

static status fill_entry(entry *e, const char *name, h5_type type, int rank, const int64_t dims[])
{
    *e = (entry){.type = type, .rank = rank, .dataset = -1, .n_rows = rank > 0 ? dims[0] : 1};
    e->row_bytes = h5_type_size(type);
    for (int d = 0; d < rank; d++) {
        e->dims[d] = dims[d];
        if (d > 0) e->row_bytes *= (size_t)dims[d];
    }
    e->name = strdup(name);
    if (!e->name) FAIL(STATUS_RESOURCE, "no memory for the name '%s'", name);
    return STATUS_OK;
}

status h5_declare(h5_writer *w, const char *name, h5_type type, int rank, const int64_t dims[],
                  const char *units, const char *description)
{
    if (rank < 0 || rank > H5_MAX_RANK) FAIL(STATUS_INVALID, "dataset '%s' of rank %d", name, rank);
    entry *grown = realloc(w->entries, (size_t)(w->n_entries + 1) * sizeof *grown);
    if (!grown) FAIL(STATUS_RESOURCE, "no memory for dataset '%s'", name);
    w->entries = grown;
    entry *e = &w->entries[w->n_entries];
    TRY(fill_entry(e, name, type, rank, dims));
    w->n_entries++;
    TRY(create_groups(w, name));
    hid_t space = space_of(e), creation = creation_of(e);
    e->dataset =
        H5Dcreate2(w->id, name, h5_file_type(type), space, H5P_DEFAULT, creation, H5P_DEFAULT);
    if (e->dataset < 0) FAIL_HDF5(w, "create dataset", name);
    H5Pclose(creation);
    H5Sclose(space);
    if (units) TRY(h5_write_text(w, name, "units", units));
    if (description) TRY(h5_write_text(w, name, "description", description));
    return STATUS_OK;
}

static entry *find_entry(const h5_writer *w, const char *name)
{
    for (int64_t i = 0; i < w->n_entries; i++)
        if (strcmp(w->entries[i].name, name) == 0) return &w->entries[i];
    return NULL;
}

/* Selects rows of a dataset in its file space (the whole for a scalar) and makes a memory space of
   their size. */
static void select_rows(const entry *e, int64_t first, int64_t count, hid_t *file_space,
                        hid_t *memory_space)
{
    *file_space = space_of(e);
    if (e->rank == 0) {
        *memory_space = H5Screate(H5S_SCALAR);
        return;
    }
    hsize_t start[H5_MAX_RANK] = {(hsize_t)first}, block[H5_MAX_RANK];
    for (int d = 0; d < e->rank; d++)
        block[d] = (hsize_t)e->dims[d];
    block[0] = (hsize_t)count;
    H5Sselect_hyperslab(*file_space, H5S_SELECT_SET, start, NULL, block, NULL);
    *memory_space = H5Screate_simple(e->rank, block, NULL);
}

static status remember(h5_writer *w, const entry *e, int64_t first, int64_t count, uint64_t sum)
{
    if (w->n_pieces == w->capacity) {
        int64_t larger = w->capacity ? 2 * w->capacity : 64;
        written *grown = realloc(w->pieces, (size_t)larger * sizeof *grown);
        if (!grown) FAIL(STATUS_RESOURCE, "%s: no memory for checksums", atomic_path(w->file));
        w->pieces = grown;
        w->capacity = larger;
    }
    w->pieces[w->n_pieces++] = (written){e - w->entries, first, count, sum};
    return STATUS_OK;
}

static status write_piece(h5_writer *w, entry *e, int64_t first, int64_t count, const void *data)
{
    hid_t file_space, memory_space;
    select_rows(e, first, count, &file_space, &memory_space);
    if (H5Dwrite(e->dataset, h5_memory_type(e->type), memory_space, file_space, H5P_DEFAULT, data) <
        0)
        FAIL_HDF5(w, "write dataset", e->name);
    H5Sclose(file_space);
    H5Sclose(memory_space);
    e->rows_written += count;
    return remember(w, e, first, count, checksum(data, (size_t)count * e->row_bytes));
}

static int64_t piece_rows(const entry *e)
{
    size_t rows = e->row_bytes ? PIECE_BYTES / e->row_bytes : 1;
    return rows > 0 ? (int64_t)rows : 1;
}

status h5_write_rows(h5_writer *w, const char *name, int64_t first, int64_t count, const void *data)
{
    entry *e = find_entry(w, name);
    if (!e || first < 0 || count < 0 || first + count > e->n_rows)
        FAIL(STATUS_INVALID, "rows %lld to %lld of dataset '%s'", (long long)first,
             (long long)(first + count), name);
    const char *bytes = data;
    int64_t at_once = piece_rows(e);
    for (int64_t done = 0, n; done < count; done += n) {
        n = count - done < at_once ? count - done : at_once;
        TRY(write_piece(w, e, first + done, n, bytes + (size_t)done * e->row_bytes));
    }
    return STATUS_OK;
}

status h5_write(h5_writer *w, const char *name, h5_type type, int rank, const int64_t dims[],
                const void *data, const char *units, const char *description)
{
    TRY(h5_declare(w, name, type, rank, dims, units, description));
    return h5_write_rows(w, name, 0, rank > 0 ? dims[0] : 1, data);
}

static status write_attribute(h5_writer *w, const char *object, const char *name, hid_t file_type,
                              hid_t memory_type, hid_t space, const void *value)
{
    char as_group[256]; /* with a slash at the end, for an object that does not exist yet */
    snprintf(as_group, sizeof as_group, "%s/", object);
    if (!find_entry(w, object) && object[1]) TRY(create_groups(w, as_group));
    hid_t id = H5Acreate_by_name(w->id, object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT,
                                 H5P_DEFAULT);
    if (id < 0) FAIL_HDF5(w, "create attribute", name);
    if (H5Awrite(id, memory_type, value) < 0) FAIL_HDF5(w, "write attribute", name);
    if (H5Aclose(id) < 0) FAIL_HDF5(w, "write attribute", name);
    return STATUS_OK;
}

status h5_write_text(h5_writer *w, const char *object, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    H5Tset_cset(type, H5T_CSET_UTF8);
    status result = write_attribute(w, object, name, type, type, space, text);
    H5Tclose(type);
    H5Sclose(space);
    return result;
}

status h5_write_numbers(h5_writer *w, const char *object, const char *name, h5_type type,
                        int64_t count, const void *values)
{
    hsize_t n = (hsize_t)count;
    hid_t space = count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, NULL);
    status result =
        write_attribute(w, object, name, h5_file_type(type), h5_memory_type(type), space, values);
    H5Sclose(space);
    return result;
}

status h5_link(h5_writer *w, const char *name, const char *target)
{
    TRY(create_groups(w, name));
    if (H5Lcreate_soft(target, w->id, name, H5P_DEFAULT, H5P_DEFAULT) < 0)
        FAIL_HDF5(w, "create link", name);
    return STATUS_OK;
}

/* A dataset whose elements are not numbers, written at once. */
static status write_other(h5_writer *w, const char *name, hid_t file_type, hid_t memory_type,
                          hid_t space, const void *data)
{
    TRY(create_groups(w, name));
    hid_t id = H5Dcreate2(w->id, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (id < 0) FAIL_HDF5(w, "create dataset", name);
    if (H5Dwrite(id, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        FAIL_HDF5(w, "write dataset", name);
    if (H5Dclose(id) < 0) FAIL_HDF5(w, "write dataset", name);
    return STATUS_OK;
}

status h5_write_string(h5_writer *w, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    H5Tset_cset(type, H5T_CSET_UTF8);
    status result = write_other(w, name, type, type, space, text);
    H5Tclose(type);
    H5Sclose(space);
    return result;
}

status h5_write_lists(h5_writer *w, const char *name, int64_t n, const int64_t *lengths,
                      const int32_t *values)
{
    hsize_t count = (hsize_t)n;
    hvl_t *lists = malloc(((size_t)n + 1) * sizeof *lists);
    if (!lists) FAIL(STATUS_RESOURCE, "%s: no memory for '%s'", atomic_path(w->file), name);
    for (int64_t i = 0, at = 0; i < n; at += lengths[i++])
        lists[i] = (hvl_t){.len = (size_t)lengths[i], .p = (void *)(values + at)};
    hid_t file_type = H5Tvlen_create(H5T_STD_I32LE), memory_type = H5Tvlen_create(H5T_NATIVE_INT32);
    hid_t space = H5Screate_simple(1, &count, NULL);
    status result = write_other(w, name, file_type, memory_type, space, lists);
    H5Sclose(space);
    H5Tclose(file_type);
    H5Tclose(memory_type);
    free(lists);
    return result;
}

/* Reads a piece back from the file as it now is on disk and compares it. */
static status verify_piece(const h5_writer *w, hid_t file, const written *piece, void *buffer)
{
    const entry *e = &w->entries[piece->entry];
    hid_t dataset = H5Dopen2(file, e->name, H5P_DEFAULT);
    if (dataset < 0) FAIL_HDF5(w, "read back dataset", e->name);
    hid_t file_space, memory_space;
    select_rows(e, piece->first, piece->count, &file_space, &memory_space);
    herr_t failed =
        H5Dread(dataset, h5_memory_type(e->type), memory_space, file_space, H5P_DEFAULT, buffer);
    if (failed < 0) FAIL_HDF5(w, "read back dataset", e->name);
    H5Sclose(file_space);
    H5Sclose(memory_space);
    H5Dclose(dataset);
    if (checksum(buffer, (size_t)piece->count * e->row_bytes) != piece->checksum)
        FAIL(STATUS_OUTPUT, "%s: dataset '%s' reads back differently from what was written",
             atomic_path(w->file), e->name);
    return STATUS_OK;
}

static status verify(const h5_writer *w)
{
    size_t largest = 1;
    for (int64_t i = 0; i < w->n_pieces; i++) {
        size_t bytes = (size_t)w->pieces[i].count * w->entries[w->pieces[i].entry].row_bytes;
        if (bytes > largest) largest = bytes;
    }
    void *buffer = malloc(largest);
    if (!buffer) FAIL(STATUS_RESOURCE, "%s: no memory to verify it", atomic_path(w->file));
    status result = STATUS_OK;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    hid_t file = H5Fopen(atomic_temporary(w->file), H5F_ACC_RDONLY, access);
    if (file < 0)
        result = status_fail(STATUS_OUTPUT, __FILE__, __LINE__, "%s: cannot open it again: %s",
                             atomic_path(w->file), h5_reason());
    for (int64_t i = 0; i < w->n_pieces && result == STATUS_OK; i++)
        result = verify_piece(w, file, &w->pieces[i], buffer);
    if (file >= 0) H5Fclose(file);
    H5Pclose(access);
    free(buffer);
    return result;
}

/* H5Fclose alone does not tell of a full disk. */
static status close_file(h5_writer *w)
{
    for (int64_t i = 0; i < w->n_entries; i++) {
        entry *e = &w->entries[i];
        if (e->rows_written != e->n_rows)
            FAIL(STATUS_INTERNAL, "%s: dataset '%s' has %lld of its %lld rows",
                 atomic_path(w->file), e->name, (long long)e->rows_written, (long long)e->n_rows);
        hid_t dataset = e->dataset;
        e->dataset = -1;
        if (H5Dclose(dataset) < 0) FAIL_HDF5(w, "write dataset", e->name);
    }
    if (H5Fflush(w->id, H5F_SCOPE_GLOBAL) < 0) FAIL_HDF5(w, "write", atomic_temporary(w->file));
    hid_t id = w->id;
    w->id = -1;
    if (H5Fclose(id) < 0) FAIL_HDF5(w, "close", atomic_temporary(w->file));
    return STATUS_OK;
}

static void release(h5_writer *w)
{
    for (int64_t i = 0; i < w->n_entries; i++) {
        if (w->entries[i].dataset >= 0) H5Dclose(w->entries[i].dataset);
        free(w->entries[i].name);
    }
    if (w->id >= 0) H5Fclose(w->id);
    free(w->seal);
    free(w->entries);
    free(w->pieces);
    free(w);
}

status h5_commit(h5_writer *w)
{
    status result = close_file(w);
    if (result == STATUS_OK) result = verify(w);
    if (result == STATUS_OK && w->seal) result = seal_write(atomic_temporary(w->file), w->seal);
    if (result == STATUS_OK) {
        result = atomic_commit(w->file);
        release(w);
    } else {
        h5_abandon(w);
    }
    return result;
}

void h5_abandon(h5_writer *w)
{
    if (!w) return;
    atomic_file *file = w->file;
    release(w);
    atomic_abandon(file);
}
