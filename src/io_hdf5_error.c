#include "io_hdf5_error.h"

#include <stdio.h>
#include <string.h>

/* A file that could not be flushed stays open in the library, which would crash on closing it once
   more at exit: it is told before its first use to leave that be.  All files are closed by then. */
void h5_silence(void)
{
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

typedef struct found_reason {
    char text[256];
    bool from_system;
} found_reason;

/* Called from the innermost failure outwards. */
static herr_t look_at(unsigned n, const H5E_error2_t *error, void *data)
{
    (void)n;
    found_reason *found = data;
    if (!error->desc || found->from_system) return 0;
    static const char mark[] = "error message = '";
    const char *message = strstr(error->desc, mark);
    if (message) {
        message += strlen(mark);
        snprintf(found->text, sizeof found->text, "%.*s", (int)strcspn(message, "'"), message);
        found->from_system = true;
    } else if (!found->text[0]) {
        snprintf(found->text, sizeof found->text, "HDF5 says '%s'", error->desc);
    }
    return 0;
}

const char *h5_reason(void)
{
    static _Thread_local found_reason found;
    memset(&found, 0, sizeof found);
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look_at, &found);
    return found.text[0] ? found.text : "HDF5 gives no reason";
}

hid_t h5_memory_type(h5_type type)
{
    switch (type) {
    case H5_UINT8:
        return H5T_NATIVE_UINT8;
    case H5_INT32:
        return H5T_NATIVE_INT32;
    case H5_INT64:
        return H5T_NATIVE_INT64;
    case H5_SINGLE:
        return H5T_NATIVE_FLOAT;
    default:
        return H5T_NATIVE_DOUBLE;
    }
}

hid_t h5_file_type(h5_type type)
{
    switch (type) {
    case H5_UINT8:
        return H5T_STD_U8LE;
    case H5_INT32:
        return H5T_STD_I32LE;
    case H5_INT64:
        return H5T_STD_I64LE;
    case H5_SINGLE:
        return H5T_IEEE_F32LE;
    default:
        return H5T_IEEE_F64LE;
    }
}

size_t h5_type_size(h5_type type)
{
    switch (type) {
    case H5_UINT8:
        return 1;
    case H5_INT32:
    case H5_SINGLE:
        return 4;
    default:
        return 8;
    }
}
