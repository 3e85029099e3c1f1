// cuDNN's handles and descriptors: f32 in NCHW, and nothing else.
#include "fake_cuda/cudnn.hpp"

#include <cstring>
#include <utility>

#include "fake_cuda/world.hpp"

namespace {

template <class Work>
cudnnStatus_t cudnn_call(Work work) {
  return fake_cuda::call(CUDNN_STATUS_EXECUTION_FAILED, work);
}

template <class Descriptor>
cudnnStatus_t create(Descriptor** descriptor) {
  return cudnn_call([&] {
    *descriptor = new Descriptor;
    return CUDNN_STATUS_SUCCESS;
  });
}

template <class Descriptor>
cudnnStatus_t destroy(Descriptor* descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

bool positive(int a, int b, int c, int d) { return a > 0 && b > 0 && c > 0 && d > 0; }

}  // namespace

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return cudnn_call([&] {
    *handle = new cudnnContext{fake_cuda::thread().device, nullptr};
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return destroy(handle); }

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return cudnn_call([&] {
    if (!handle || !fake_cuda::is_open(stream) || stream->queue->device != handle->device)
      return CUDNN_STATUS_BAD_PARAM;
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
  });
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return "a status of cuDNN";
  }
}

// Like cuDNN's, which forgets the message once it is reported.
void cudnnGetLastErrorString(char* message, size_t bytes) {
  const auto held = fake_cuda::lock();
  if (bytes == 0) return;
  std::strncpy(message, std::exchange(fake_cuda::thread().cudnn_error, ""), bytes - 1);
  message[bytes - 1] = 0;
}

size_t cudnnGetVersion() { return CUDNN_VERSION; }

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* descriptor) {
  return create(descriptor);
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor) {
  return destroy(descriptor);
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t descriptor,
                                         cudnnTensorFormat_t format, cudnnDataType_t type, int n,
                                         int c, int h, int w) {
  return cudnn_call([&] {
    if (!descriptor || !positive(n, c, h, w)) return CUDNN_STATUS_BAD_PARAM;
    if (format != CUDNN_TENSOR_NCHW || type != CUDNN_DATA_FLOAT) return CUDNN_STATUS_NOT_SUPPORTED;
    *descriptor = {n, c, h, w};
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* descriptor) {
  return create(descriptor);
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t descriptor) {
  return destroy(descriptor);
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  return cudnn_call([&] {
    if (!descriptor || !positive(k, c, h, w)) return CUDNN_STATUS_BAD_PARAM;
    if (format != CUDNN_TENSOR_NCHW || type != CUDNN_DATA_FLOAT) return CUDNN_STATUS_NOT_SUPPORTED;
    *descriptor = {k, c, h, w};
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* descriptor) {
  return create(descriptor);
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t descriptor) {
  return destroy(descriptor);
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t descriptor, int pad_h,
                                              int pad_w, int stride_h, int stride_w, int dilation_h,
                                              int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute) {
  return cudnn_call([&] {
    if (!descriptor || pad_h < 0 || pad_w < 0 ||
        !positive(stride_h, stride_w, dilation_h, dilation_w))
      return CUDNN_STATUS_BAD_PARAM;
    if (mode != CUDNN_CROSS_CORRELATION || compute != CUDNN_DATA_FLOAT)
      return CUDNN_STATUS_NOT_SUPPORTED;
    *descriptor = {pad_h,      pad_w, stride_h, stride_w,       dilation_h,
                   dilation_w, 1,     true,     descriptor->f32};
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int groups) {
  return cudnn_call([&] {
    if (!descriptor || groups < 1) return CUDNN_STATUS_BAD_PARAM;
    descriptor->groups = groups;
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor,
                                          cudnnMathType_t type) {
  return cudnn_call([&] {
    if (!descriptor) return CUDNN_STATUS_BAD_PARAM;
    descriptor->f32 = type == CUDNN_FMA_MATH;
    return CUDNN_STATUS_SUCCESS;
  });
}

}  // extern "C"
