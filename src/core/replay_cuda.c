/* replay_cuda.c: recordings as CUDA graphs. */
#include "core/cuda_try.h"
#include "core/replay_impl.h"

static cudaStream_t stream_of(const device *dev)
{
    return (cudaStream_t)device_stream(dev);
}

static status instantiate(cudaGraph_t graph, void **recording)
{
    cudaGraphExec_t made;
    CUDA_TRY(cudaGraphInstantiate(&made, graph, 0));
    *recording = made;
    return STATUS_OK;
}

static status record(cudaStream_t stream, status (*work)(void *context), void *context,
                     void **recording)
{
    cudaGraph_t graph = NULL;
    CUDA_TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    status result = work(context);
    cudaError_t error = cudaStreamEndCapture(stream, &graph); /* after a failure too */
    TRY(result);
    CUDA_TRY(error);
    result = instantiate(graph, recording);
    (void)cudaGraphDestroy(graph);
    return result;
}

status recording_make(const device *dev, status (*work)(void *context), void *context,
                      void **recording)
{
    int before;
    TRY(cuda_enter(device_ordinal(dev), &before));
    status result = record(stream_of(dev), work, context, recording);
    cuda_leave(device_ordinal(dev), before);
    return result;
}

static status launch(cudaGraphExec_t recording, cudaStream_t stream)
{
    CUDA_TRY(cudaGraphLaunch(recording, stream));
    return STATUS_OK;
}

status recording_launch(const device *dev, void *recording)
{
    int before;
    TRY(cuda_enter(device_ordinal(dev), &before));
    status result = launch(recording, stream_of(dev));
    cuda_leave(device_ordinal(dev), before);
    return result;
}

void recording_destroy(const device *dev, void *recording)
{
    int before;
    if (!recording || cuda_enter(device_ordinal(dev), &before) != STATUS_OK) return;
    (void)cudaGraphExecDestroy(recording);
    cuda_leave(device_ordinal(dev), before);
}
