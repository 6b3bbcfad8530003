/* device_no_cuda.c: the GPU of a build without CUDA. */
#include "core/device.h"

#define NO_CUDA "this build has no CUDA; configure with -DMTIP_CUDA=ON"

status device_create_cuda(int ordinal, device **created)
{
    (void)ordinal;
    *created = NULL;
    FAIL(STATUS_UNSUPPORTED, NO_CUDA);
}

status device_facts_cuda(int ordinal, device_facts *facts)
{
    (void)ordinal;
    *facts = (device_facts){.bytes = 0};
    FAIL(STATUS_UNSUPPORTED, NO_CUDA);
}

int device_count_cuda(void)
{
    return 0;
}
