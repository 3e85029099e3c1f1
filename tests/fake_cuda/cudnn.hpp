// What is behind cuDNN's handles and descriptors.
#pragma once

#include <cudnn.h>

#include <cstdint>

struct cudnnContext {
  int device = 0;
  cudaStream_t stream = nullptr;
};

struct cudnnTensorStruct {
  int n = 0, c = 0, h = 0, w = 0;
  std::int64_t elements() const { return std::int64_t{n} * c * h * w; }
};

struct cudnnFilterStruct {
  int k = 0, c = 0, h = 0, w = 0;
  std::int64_t elements() const { return std::int64_t{k} * c * h * w; }
};

struct cudnnConvolutionStruct {
  int pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, groups = 1;
  bool set = false, f32 = false;  // f32: the math type that does not round its operands
};
