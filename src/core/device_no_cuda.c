/* device_no_cuda.c: the GPU of a build without CUDA. */
#include "core/device.h"

status device_create_cuda(int ordinal, device **created)
{
    (void)ordinal;
    *created = NULL;
    FAIL(STATUS_UNSUPPORTED, "this build has no CUDA; configure with -DMTIP_CUDA=ON");
}

int device_count_cuda(void)
{
    return 0;
}
