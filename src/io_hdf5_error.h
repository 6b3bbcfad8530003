/* io_hdf5_error.h: what HDF5 has to say about its last failure, and its types; for io_hdf5*.c only. */
#ifndef MTIP_IO_HDF5_ERROR_H
#define MTIP_IO_HDF5_ERROR_H

#include <hdf5.h>

#include "io_hdf5.h"

/* Stops the library from printing. */
void h5_silence(void);

/* The system's message if the failure came from there ("No space left on device"), else the
   innermost message of the library. Valid until the next call on this thread. */
const char *h5_reason(void);

hid_t h5_reader_id(const h5_reader *r);
hid_t h5_memory_type(h5_type type);
hid_t h5_file_type(h5_type type);
size_t h5_type_size(h5_type type);

#endif
