/* nufft_no_cuda.c: the GPU's tables of a build without CUDA. */
#include "nufft/nufft_impl.h"

static status create(const nufft_setup *setup, void **state)
{
    (void)setup;
    *state = NULL;
    FAIL(STATUS_UNSUPPORTED, "this build has no CUDA; configure with -DMTIP_CUDA=ON");
}

static void destroy(void *state)
{
    (void)state;
}

/* No state is ever made, so nothing else can be called. */
const nufft_backend nufft_cuda_single = {.create = create, .destroy = destroy};
const nufft_backend nufft_cuda_double = {.create = create, .destroy = destroy};
