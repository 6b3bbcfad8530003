/* fft_no_cuda.c: the GPU's table of a build without CUDA. */
#include "nufft/fft_impl.h"

static status create(const device *dev, const fft_problem *problem, void **state)
{
    (void)dev, (void)problem;
    *state = NULL;
    FAIL(STATUS_UNSUPPORTED, "this build has no CUDA; configure with -DMTIP_CUDA=ON");
}

static void destroy(void *state)
{
    (void)state;
}

/* No state is ever made, so nothing else can be called. */
const fft_table fft_table_cuda = {.create = create, .destroy = destroy};
