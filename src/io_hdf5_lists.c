/* io_hdf5_lists.c: lists of variable length, read without the library's help: it trusts the heaps in
   which they are, and damaged ones make it crash or go on for ever.

   An element of the dataset is the length of its list (4 bytes), and the address (8) and number (4) of
   an object in a global heap collection: "GCOL", version 1, 3 zeros, its size (8); then objects: number
   and count of references (2 each), 4 zeros, size (8), data to a multiple of 8.  Object 0 is the free
   space at the end.  (HDF5 file format specification, III.E and IV.A.2.l.) */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io_hdf5_error.h"

enum { ELEMENT = 16, HEAD = 16, ALIGNMENT = 8, MAX_COLLECTION = 1 << 30 };

/* The file, and the collection that was read last. */
typedef struct heap {
    const char *path, *name;
    int file;
    uint64_t size; /* of the file */
    uint64_t address, length;
    unsigned char *bytes; /* [length] */
} heap;

static uint64_t little(const unsigned char *bytes, int n)
{
    uint64_t value = 0;
    for (int i = n - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

static status read_at(const heap *h, uint64_t address, void *bytes, uint64_t n)
{
    if (address > h->size || n > h->size - address ||
        pread(h->file, bytes, (size_t)n, (off_t)address) != (ssize_t)n)
        FAIL(STATUS_INPUT, "%s: dataset '%s' needs %llu bytes at %llu of a file of %llu", h->path,
             h->name, (unsigned long long)n, (unsigned long long)address,
             (unsigned long long)h->size);
    return STATUS_OK;
}

static status load_collection(heap *h, uint64_t address)
{
    unsigned char head[HEAD];
    if (h->bytes && h->address == address) return STATUS_OK;
    free(h->bytes);
    h->bytes = NULL;
    TRY(read_at(h, address, head, HEAD));
    h->address = address;
    h->length = little(head + 8, 8);
    if (memcmp(head, "GCOL\1", 5) != 0 || h->length < HEAD || h->length > MAX_COLLECTION)
        FAIL(STATUS_INPUT,
             "%s: dataset '%s' has lists at byte %llu, where no heap is; is it damaged?", h->path,
             h->name, (unsigned long long)address);
    h->bytes = malloc((size_t)h->length);
    if (!h->bytes) FAIL(STATUS_RESOURCE, "%s: no memory for '%s'", h->path, h->name);
    return read_at(h, address, h->bytes, h->length);
}

/* The data of an object of the collection, at least n bytes. */
static status find_object(const heap *h, uint64_t number, uint64_t n, const unsigned char **data)
{
    for (uint64_t at = HEAD; at + HEAD <= h->length;) {
        const uint64_t index = little(h->bytes + at, 2), size = little(h->bytes + at + 8, 8);
        const uint64_t room = h->length - at - HEAD;
        if (index == 0 || size > room) break;
        if (index == number && size >= n) {
            *data = h->bytes + at + HEAD;
            return STATUS_OK;
        }
        at += HEAD + (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    FAIL(
        STATUS_INPUT,
        "%s: dataset '%s' has a list of %llu bytes in object %llu of the heap at byte %llu, which has "
        "none; is it damaged?",
        h->path, h->name, (unsigned long long)n, (unsigned long long)number,
        (unsigned long long)h->address);
}

/* ---- the dataset ---- */

static status open_lists(const h5_reader *r, const char *name, hid_t *dataset, int64_t *n)
{
    if (!h5_has(r, name) || (*dataset = H5Dopen2(h5_reader_id(r), name, H5P_DEFAULT)) < 0)
        FAIL(STATUS_INPUT, "%s: no dataset '%s'", h5_path(r), name);
    hid_t type = H5Dget_type(*dataset), base = type >= 0 ? H5Tget_super(type) : -1;
    hid_t space = H5Dget_space(*dataset);
    hsize_t size = 0;
    bool fits = type >= 0 && H5Tget_class(type) == H5T_VLEN && base >= 0 &&
                H5Tequal(base, H5T_STD_I32LE) > 0 && H5Tget_size(type) == ELEMENT &&
                H5Sget_simple_extent_ndims(space) == 1 &&
                H5Sget_simple_extent_dims(space, &size, NULL) == 1 && size <= INT32_MAX;
    if (base >= 0) H5Tclose(base);
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    *n = (int64_t)size;
    if (fits) return STATUS_OK;
    H5Dclose(*dataset);
    FAIL(STATUS_INPUT,
         "%s: dataset '%s' is not one axis of lists of 32-bit integers (variable length)",
         h5_path(r), name);
}

status h5_count_lists(const h5_reader *r, const char *name, int64_t *n)
{
    hid_t dataset = -1;
    TRY(open_lists(r, name, &dataset, n));
    H5Dclose(dataset);
    return STATUS_OK;
}

/* Where an element is in the file: in one run, or in chunks that are not compressed; HADDR_UNDEF if it
   was never written. */
static bool find_element(hid_t dataset, hid_t creation, int64_t row, haddr_t *address)
{
    hsize_t chunk = 1, size = 0;
    unsigned filters = 0;
    if (H5Pget_external_count(creation) != 0 || H5Pget_nfilters(creation) != 0) return false;
    if (H5Pget_layout(creation) == H5D_CONTIGUOUS) {
        *address = H5Dget_offset(dataset);
        if (*address != HADDR_UNDEF) *address += (haddr_t)row * ELEMENT;
        return true;
    }
    if (H5Pget_layout(creation) != H5D_CHUNKED || H5Pget_chunk(creation, 1, &chunk) != 1)
        return false;
    const hsize_t first = (hsize_t)row / chunk * chunk;
    if (H5Dget_chunk_info_by_coord(dataset, &first, &filters, address, &size) < 0) return false;
    if (*address != HADDR_UNDEF) *address += ((hsize_t)row - first) * ELEMENT;
    return true;
}

/* Appends the list of one row to values, of which there are n so far and `limit` at most. */
static status read_list(heap *h, haddr_t address, int64_t limit, int64_t *n, int32_t **values,
                        int64_t *length)
{
    unsigned char element[ELEMENT];
    const unsigned char *data = NULL;
    *length = 0;
    if (address == HADDR_UNDEF) return STATUS_OK;
    TRY(read_at(h, address, element, ELEMENT));
    *length = (int64_t)little(element, 4);
    if (*length == 0) return STATUS_OK;
    if (*length > limit - *n || (uint64_t)*length * 4 > h->size)
        FAIL(STATUS_INPUT, "%s: dataset '%s' has a list of %lld numbers, more than it can", h->path,
             h->name, (long long)*length);
    TRY(load_collection(h, little(element + 4, 8)));
    TRY(find_object(h, little(element + 12, 4), 4 * (uint64_t)*length, &data));
    int32_t *grown = realloc(*values, (size_t)(*n + *length) * sizeof *grown);
    if (!grown) FAIL(STATUS_RESOURCE, "%s: no memory for '%s'", h->path, h->name);
    *values = grown;
    for (int64_t i = 0; i < *length; i++)
        grown[(*n)++] = (int32_t)(uint32_t)little(data + 4 * i, 4);
    return STATUS_OK;
}

static status read_rows(heap *h, hid_t dataset, int64_t first, int64_t count, int64_t limit,
                        int64_t *lengths, int32_t **values)
{
    int64_t n = 0;
    struct stat info;
    h->file = open(h->path, O_RDONLY | O_CLOEXEC);
    if (h->file < 0 || fstat(h->file, &info) != 0)
        FAIL(STATUS_INPUT, "%s: cannot open: %s", h->path, strerror(errno));
    h->size = (uint64_t)info.st_size;
    hid_t creation = H5Dget_create_plist(dataset);
    status result = STATUS_OK;
    for (int64_t i = 0; i < count && result == STATUS_OK; i++) {
        haddr_t address = HADDR_UNDEF;
        result = find_element(dataset, creation, first + i, &address)
                     ? read_list(h, address, limit, &n, values, &lengths[i])
                     : FAILED(STATUS_INPUT, "%s: dataset '%s' is compressed or kept elsewhere",
                              h->path, h->name);
    }
    if (creation >= 0) H5Pclose(creation);
    return result;
}

status h5_read_lists(const h5_reader *r, const char *name, int64_t first, int64_t count,
                     int64_t limit, int64_t *lengths, int32_t **values)
{
    heap h = {.path = h5_path(r), .name = name, .file = -1};
    hid_t dataset = -1;
    int64_t n;
    *values = NULL;
    TRY(open_lists(r, name, &dataset, &n));
    status result =
        first >= 0 && count >= 0 && first <= n - count
            ? read_rows(&h, dataset, first, count, limit, lengths, values)
            : FAILED(STATUS_INPUT, "%s: dataset '%s' has %lld lists", h.path, name, (long long)n);
    H5Dclose(dataset);
    if (h.file >= 0) close(h.file);
    free(h.bytes);
    if (result == STATUS_OK) return STATUS_OK;
    free(*values);
    *values = NULL;
    return result;
}
