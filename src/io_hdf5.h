/* io_hdf5.h: HDF5 files through the serial library, written so that they can be trusted and read as
   if they could not.

   Names are absolute paths ("/truth/positions"); groups on the way are created.  Arrays are C-
   ordered, on the host.  The library's own messages are silenced and end up in ours. */
#ifndef MTIP_IO_HDF5_H
#define MTIP_IO_HDF5_H

#include "core/status.h"
#include "core/types.h"

typedef enum h5_type { H5_UINT8, H5_INT32, H5_INT64, H5_SINGLE, H5_DOUBLE } h5_type;

enum { H5_MAX_RANK = 8 };

/* ---- writing -------------------------------------------------------------------------------

   Everything goes to a temporary file (io_atomic.h).  h5_commit closes it, opens it again, reads
   all that was written and compares checksums before the file gets its name.  Datasets are
   chunked with Fletcher32 checksums, and metadata have checksums too (format 1.10), so that later
   damage is noticed.  The same calls give the same bytes.  Failures are STATUS_OUTPUT. */

typedef struct h5_writer h5_writer;

status h5_create(const char *path, h5_writer **created);
/* The same for a file that begins with this text and a checksum of all (io_seal.h). */
status h5_create_sealed(const char *path, const char *about, h5_writer **created);
/* Frees the writer in any case; on failure nothing is left of the temporary file. */
status h5_commit(h5_writer *w);
/* Gives up: removes the temporary file. Accepts NULL. */
void h5_abandon(h5_writer *w);

/* A dataset with attributes "units" and "description" (NULL: none). rank 0 is a scalar. */
status h5_write(h5_writer *w, const char *name, h5_type type, int rank, const int64_t dims[],
                const void *data, const char *units, const char *description);

/* The same without data: rows (along the first axis) follow, each once, in any order; h5_commit
   fails if one is missing. */
status h5_declare(h5_writer *w, const char *name, h5_type type, int rank, const int64_t dims[],
                  const char *units, const char *description);
status h5_write_rows(h5_writer *w, const char *name, int64_t first, int64_t count,
                     const void *data);

/* A scalar dataset of text; a soft link to another object; and a dataset (n) of lists of integers of
   variable length that follow one another in values.  These are written as they are, without being
   read back. */
status h5_write_string(h5_writer *w, const char *name, const char *text);
status h5_link(h5_writer *w, const char *name, const char *target);
status h5_write_lists(h5_writer *w, const char *name, int64_t n, const int64_t *lengths,
                      const int32_t *values);

/* Attributes of a dataset or group ("/" is the file). A text is a fixed-length UTF-8 string. */
status h5_write_text(h5_writer *w, const char *object, const char *name, const char *text);
status h5_write_numbers(h5_writer *w, const char *object, const char *name, h5_type type,
                        int64_t count, const void *values);

/* ---- reading -------------------------------------------------------------------------------

   Every failure is STATUS_INPUT and names file and dataset, what was found and what was expected;
   for a dataset that is missing, those that exist.  Nothing is allocated by what a file claims. */

typedef struct h5_reader h5_reader;

status h5_open(const char *path, h5_reader **opened);
/* Accepts NULL. */
void h5_close(h5_reader *r);
const char *h5_path(const h5_reader *r);

/* Whether a file begins as HDF5 files do, and whether it can be opened and h5_has the name. */
bool h5_recognize(const char *path);
bool h5_file_has(const char *path, const char *name);

/* The absolute name of what a user calls "given" (NULL or "": "usual"). */
status h5_full_name(const char *given, const char *usual, char *name, size_t size);

/* Whether a dataset of this name exists, or might in a file too damaged to tell. */
bool h5_has(const h5_reader *r, const char *name);

/* Shape and element type (class and size) of a numeric dataset; enumerations count as integers. */
typedef struct h5_shape {
    int rank;
    int64_t dims[H5_MAX_RANK];
    bool is_float;
    int size; /* bytes of an element in the file */
} h5_shape;
status h5_get_shape(const h5_reader *r, const char *name, h5_shape *shape);

/* Reads a whole dataset that must have exactly this shape, converted to type.  A float dataset is
   not read as integers. */
status h5_read(const h5_reader *r, const char *name, h5_type type, int rank, const int64_t dims[],
               void *data);
/* Rows first .. first+count-1 along the first axis of a dataset of any shape. */
status h5_read_rows(const h5_reader *r, const char *name, h5_type type, int64_t first,
                    int64_t count, void *data);

/* All numbers of a dataset of any shape, at most 2^24, which the caller frees; or of its one. */
status h5_read_list(const h5_reader *r, const char *name, double **values, int64_t *n);
status h5_read_value(const h5_reader *r, const char *name, double *value);

/* Rows first .. first+count-1 of a dataset (N) of lists of 32-bit integers of variable length, one
   after the other, at most `limit` in all; lengths [count].  Uncompressed files only.  The caller frees *values. */
status h5_read_lists(const h5_reader *r, const char *name, int64_t first, int64_t count,
                     int64_t limit, int64_t *lengths, int32_t **values);
/* Their number N; STATUS_INPUT for a dataset of anything else. */
status h5_count_lists(const h5_reader *r, const char *name, int64_t *n);

/* Pixels of a detector of this shape (panels, rows, columns) by the bits of a dataset of masks, one
   for all images or one for each: mask [pixels] becomes 0 where (value & good) != good or
   (value & bad) != 0, in any of them. */
status h5_apply_mask(const h5_reader *r, const char *name, const int64_t shape[3], uint32_t good,
                     uint32_t bad, uint8_t *mask);

bool h5_has_attribute(const h5_reader *r, const char *object, const char *name);
/* An attribute of exactly count numbers (scalar for 1). */
status h5_read_numbers(const h5_reader *r, const char *object, const char *name, h5_type type,
                       int64_t count, void *values);
/* A text attribute: fixed or variable length, scalar or one element; cut to size. */
status h5_read_text(const h5_reader *r, const char *object, const char *name, char *text,
                    size_t size);

/* Number of elements, and limit + 1 for more than limit. */
int64_t h5_count(const h5_shape *shape, int64_t limit);

/* Text such as "(40, 1, 128, 128) float32". */
void h5_describe(const h5_shape *shape, char *text, size_t size);

#endif
