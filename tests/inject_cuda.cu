/* inject_cuda.cu: a fault of a GPU, for tests: preloaded, it lets rank MTIP_FAULT_RANK write where no
   memory is, before it waits for its GPU for the MTIP_FAULT_AT-th time. */
#include <cstdlib>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

static __global__ void fault(volatile int *nowhere)
{
    *nowhere = 1;
}

static long number(const char *name)
{
    const char *text = getenv(name);
    return text ? atol(text) : -1;
}

typedef cudaError_t (*wait_function)(cudaStream_t);

extern "C" cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    static const wait_function real = (wait_function)dlsym(RTLD_NEXT, "cudaStreamSynchronize");
    static const long at = number("MTIP_FAULT_AT");
    static const bool here = number("OMPI_COMM_WORLD_RANK") == number("MTIP_FAULT_RANK");
    static long calls = 0;
    if (here && ++calls == at) fault<<<1, 1, 0, stream>>>((volatile int *)8);
    return real(stream);
}
