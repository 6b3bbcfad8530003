/* cuda_try.h: calls of the CUDA runtime as statuses, on the device they are meant for.  For files
   that build with CUDA only. */
#ifndef MTIP_CUDA_TRY_H
#define MTIP_CUDA_TRY_H

#include <stdbool.h>

#include <cuda_runtime_api.h>

#include "core/status.h"

/* After these the process can do no more on the GPU; the GPU itself may be at fault. */
static inline bool cuda_is_fault(cudaError_t error)
{
    return error == cudaErrorECCUncorrectable || error == cudaErrorNvlinkUncorrectable ||
           error == cudaErrorHardwareStackError || error == cudaErrorIllegalAddress ||
           error == cudaErrorLaunchFailure || error == cudaErrorLaunchTimeout;
}

/* The error as a status; takes it off the runtime, so that the next call starts clean. */
static inline status cuda_status(cudaError_t error)
{
    if (error == cudaSuccess) return STATUS_OK;
    (void)cudaGetLastError();
    if (cuda_is_fault(error)) return STATUS_FAULT;
    bool resource = error == cudaErrorMemoryAllocation || error == cudaErrorNoDevice ||
                    error == cudaErrorInsufficientDriver || error == cudaErrorInvalidDevice ||
                    error == cudaErrorDevicesUnavailable;
    bool code = error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction;
    return resource ? STATUS_RESOURCE : code ? STATUS_UNSUPPORTED : STATUS_INTERNAL;
}

#define CUDA_TRY(call)                                                                    \
    do {                                                                                  \
        cudaError_t cuda_error = (call);                                                  \
        if (cuda_error != cudaSuccess)                                                    \
            FAIL(cuda_status(cuda_error), "GPU: %s (%s)", cudaGetErrorString(cuda_error), \
                 cudaGetErrorName(cuda_error));                                           \
    } while (0)

/* Makes `ordinal` the thread's current device; *before is what to give back to cuda_leave.  Whoever
   frees asks whether it did: a failure then is the echo of an earlier one, whose message stays. */
static inline cudaError_t cuda_try_enter(int ordinal, int *before)
{
    const cudaError_t error = cudaGetDevice(before);
    return error != cudaSuccess || *before == ordinal ? error : cudaSetDevice(ordinal);
}

static inline status cuda_enter(int ordinal, int *before)
{
    CUDA_TRY(cuda_try_enter(ordinal, before));
    return STATUS_OK;
}

static inline void cuda_leave(int ordinal, int before)
{
    if (before != ordinal) (void)cudaSetDevice(before);
}

#endif
