// cuDNN's convolutions and their halves: the products of images and weights, in plain loops.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "fake_cuda/cudnn.hpp"
#include "fake_cuda/library.hpp"
#include "fake_cuda/world.hpp"

using fake_cuda::call;

namespace {

using Tensor = cudnnTensorStruct;
using Filter = cudnnFilterStruct;
using Convolution = cudnnConvolutionStruct;

struct Shapes {
  Tensor x, y;
  Filter w;
  Convolution convolution;
};

// visit(index in x, in w, in y) for every product. Indices are row-major.
template <class Visit>
void for_each_product(const Shapes& s, Visit visit) {
  const Convolution& c = s.convolution;
  const int outputs = s.w.k / c.groups;  // of a group
  const auto row = [&](int n, int k, int i, int y, int x, int ky) {
    const int from_y = y * c.stride_h - c.pad_h + ky * c.dilation_h;
    if (from_y < 0 || from_y >= s.x.h) return;
    const std::int64_t channel = std::int64_t{n} * s.x.c + k / outputs * s.w.c + i;
    for (int kx = 0; kx < s.w.w; ++kx) {
      const int from_x = x * c.stride_w - c.pad_w + kx * c.dilation_w;
      if (from_x < 0 || from_x >= s.x.w) continue;
      visit((channel * s.x.h + from_y) * s.x.w + from_x,
            ((std::int64_t{k} * s.w.c + i) * s.w.h + ky) * s.w.w + kx,
            ((std::int64_t{n} * s.y.c + k) * s.y.h + y) * s.y.w + x);
    }
  };
  for (int n = 0; n < s.y.n; ++n)
    for (int k = 0; k < s.w.k; ++k)
      for (int y = 0; y < s.y.h; ++y)
        for (int x = 0; x < s.y.w; ++x)
          for (int i = 0; i < s.w.c; ++i)
            for (int ky = 0; ky < s.w.h; ++ky) row(n, k, i, y, x, ky);
}

int outputs(int size, int pad, int kernel, int stride, int dilation) {
  return (size + 2 * pad - (dilation * (kernel - 1) + 1)) / stride + 1;
}

bool consistent(const Shapes& s) {
  const Convolution& c = s.convolution;
  return c.set && s.x.c == s.w.c * c.groups && s.w.k % c.groups == 0 && s.y.n == s.x.n &&
         s.y.c == s.w.k && s.y.h == outputs(s.x.h, c.pad_h, s.w.h, c.stride_h, c.dilation_h) &&
         s.y.w == outputs(s.x.w, c.pad_w, s.w.w, c.stride_w, c.dilation_w);
}

// Some size that depends on everything, so that a size asked for another shape is noticed.
std::size_t workspace_bytes(const Shapes& s, int pass, int algorithm) {
  const auto elements = s.x.elements() + s.y.elements() * 2 + s.w.elements() * 3;
  return algorithm == 0 ? 0 : static_cast<std::size_t>(elements % 977 * 4 + pass * 16);
}

// One of the three passes: the sums of products over one index of the triple.
struct Pass {
  int number = 0, algorithm = 0;
  const void *alpha = nullptr, *beta = nullptr;
  const void *a = nullptr, *b = nullptr;  // the factors
  std::int64_t a_elements = 0, b_elements = 0;
  void* target = nullptr;
  std::int64_t target_elements = 0;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  const char* what = "";
};

// sum(sums, a, b, the product's indices in x, w and y) adds one product to its sum.
template <class Sum>
void run(const Shapes& shapes, const Pass& pass, double alpha, double beta, Sum sum) {
  const auto bytes = [](std::int64_t elements) {
    return static_cast<std::size_t>(elements) * sizeof(float);
  };
  auto* const target = static_cast<float*>(pass.target);
  fake_cuda::spoil(pass.workspace, pass.workspace_bytes);
  fake_cuda::reads(pass.a, bytes(pass.a_elements));
  fake_cuda::reads(pass.b, bytes(pass.b_elements));
  if (beta != 0) fake_cuda::reads(target, bytes(pass.target_elements));
  fake_cuda::writes(target, bytes(pass.target_elements));
  std::vector<double> sums(static_cast<std::size_t>(pass.target_elements));
  const auto *a = static_cast<const float*>(pass.a), *b = static_cast<const float*>(pass.b);
  for_each_product(
      shapes, [&](std::int64_t x, std::int64_t w, std::int64_t y) { sum(sums, a, b, x, w, y); });
  fake_cuda::blend(target, sums, alpha, beta);
}

bool usable(const void* memory, std::int64_t elements) {
  return fake_cuda::world().memory.holds(memory, static_cast<std::size_t>(elements) * 4);
}

template <class Sum>
cudnnStatus_t ask(cudnnHandle_t handle, const Shapes& shapes, const Pass& pass, Sum sum) {
  using fake_cuda::found;
  if (!handle || !fake_cuda::is_open(handle->stream) ||
      fake_cuda::thread().device != handle->device || !consistent(shapes))
    return CUDNN_STATUS_BAD_PARAM;
  if (!shapes.convolution.f32) found("a convolution whose math type may round its operands");
  const std::size_t wanted = workspace_bytes(shapes, pass.number, pass.algorithm);
  if (pass.workspace_bytes < wanted || (wanted && !pass.workspace)) return CUDNN_STATUS_BAD_PARAM;
  if (wanted && !fake_cuda::aligned(pass.workspace, fake_cuda::workspace_alignment))
    return CUDNN_STATUS_BAD_PARAM;
  if (!usable(pass.a, pass.a_elements) || !usable(pass.b, pass.b_elements) ||
      !usable(pass.target, pass.target_elements) ||
      (wanted && !fake_cuda::world().memory.holds(pass.workspace, wanted)))
    return CUDNN_STATUS_BAD_PARAM;
  const double alpha = fake_cuda::scalar(pass.alpha), beta = fake_cuda::scalar(pass.beta);
  Pass copy = pass;
  copy.workspace_bytes = wanted;
  fake_cuda::push(handle->stream, {.what = pass.what,
                                   .work = [=] { run(shapes, copy, alpha, beta, sum); },
                                   .ready = {},
                                   .awaited = {},
                                   .recorded = {},
                                   .host = {}});
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t size(const Shapes& shapes, int pass, int algorithm, int advised, std::size_t* bytes) {
  const auto refusal = static_cast<cudnnStatus_t>(fake_cuda::world().options.cudnn_refusal);
  if (refusal != CUDNN_STATUS_SUCCESS && algorithm != advised) {
    fake_cuda::thread().cudnn_error = "the fake was told to refuse it";
    return refusal;
  }
  if (!consistent(shapes)) return CUDNN_STATUS_BAD_PARAM;
  *bytes = workspace_bytes(shapes, pass, algorithm);
  return CUDNN_STATUS_SUCCESS;
}

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Lists the algorithm to take after three that look equally good and are not: one is
// nondeterministic, one rounds its operands, one is not supported.
template <class Performance, class Algorithm>
cudnnStatus_t advise(Algorithm advised, Algorithm other, int most, int* count,
                     Performance* results) {
  return call(CUDNN_STATUS_EXECUTION_FAILED, [&] {
    Performance good{};
    good.algo = advised;
    good.status = CUDNN_STATUS_SUCCESS;
    good.determinism = CUDNN_DETERMINISTIC;
    good.mathType = CUDNN_FMA_MATH;
    std::array<Performance, 4> all{good, good, good, good};
    for (int i = 0; i < 3; ++i) all[index(i)].algo = other;
    all[0].determinism = CUDNN_NON_DETERMINISTIC;
    all[1].mathType = CUDNN_TENSOR_OP_MATH;
    all[2].status = CUDNN_STATUS_NOT_SUPPORTED;
    *count = std::min(most, fake_cuda::world().options.cudnn_advises ? 4 : 3);
    std::copy_n(all.begin(), *count, results);
    return CUDNN_STATUS_SUCCESS;
  });
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t y,
    cudnnConvolutionFwdAlgo_t algorithm, size_t* bytes) {
  return call(CUDNN_STATUS_EXECUTION_FAILED, [&] {
    return size({*x, *y, *w, *convolution}, 1, algorithm, CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING,
                bytes);
  });
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t dx,
    cudnnConvolutionBwdDataAlgo_t algorithm, size_t* bytes) {
  return call(CUDNN_STATUS_EXECUTION_FAILED, [&] {
    return size({*dx, *dy, *w, *convolution}, 2, algorithm,
                CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING, bytes);
  });
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t convolution, const cudnnFilterDescriptor_t dw,
    cudnnConvolutionBwdFilterAlgo_t algorithm, size_t* bytes) {
  return call(CUDNN_STATUS_EXECUTION_FAILED, [&] {
    return size({*x, *dy, *dw, *convolution}, 3, algorithm,
                CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING, bytes);
  });
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                     const cudnnFilterDescriptor_t,
                                                     const cudnnConvolutionDescriptor_t,
                                                     const cudnnTensorDescriptor_t, const int most,
                                                     int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* results) {
  return advise(CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING, CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, most,
                count, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t, const cudnnFilterDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t, const int most, int* count,
    cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return advise(CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING, CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, most,
                count, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnFilterDescriptor_t, const int most, int* count,
    cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return advise(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0,
                most, count, results);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      const cudnnTensorDescriptor_t x_shape, const void* x,
                                      const cudnnFilterDescriptor_t w_shape, const void* w,
                                      const cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace,
                                      size_t workspace_bytes, const void* beta,
                                      const cudnnTensorDescriptor_t y_shape, void* y) {
  return call(CUDNN_STATUS_EXECUTION_FAILED, [&] {
    return ask(handle, {*x_shape, *y_shape, *w_shape, *convolution},
               {1, algorithm, alpha, beta, x, w, x_shape->elements(), w_shape->elements(), y,
                y_shape->elements(), workspace, workspace_bytes, "cudnnConvolutionForward"},
               [](auto& sums, const float* a, const float* b, auto i, auto j, auto k) {
                 sums[index(k)] += double{a[i]} * b[j];
               });
  });
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           const cudnnFilterDescriptor_t w_shape, const void* w,
                                           const cudnnTensorDescriptor_t dy_shape, const void* dy,
                                           const cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                           size_t workspace_bytes, const void* beta,
                                           const cudnnTensorDescriptor_t dx_shape, void* dx) {
  return call(CUDNN_STATUS_EXECUTION_FAILED, [&] {
    if (algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_0)
      fake_cuda::found("an algorithm of cuDNN that is not deterministic");
    return ask(handle, {*dx_shape, *dy_shape, *w_shape, *convolution},
               {2, algorithm, alpha, beta, w, dy, w_shape->elements(), dy_shape->elements(), dx,
                dx_shape->elements(), workspace, workspace_bytes, "cudnnConvolutionBackwardData"},
               [](auto& sums, const float* a, const float* b, auto i, auto j, auto k) {
                 sums[index(i)] += double{a[j]} * b[k];
               });
  });
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             const cudnnTensorDescriptor_t x_shape, const void* x,
                                             const cudnnTensorDescriptor_t dy_shape, const void* dy,
                                             const cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm,
                                             void* workspace, size_t workspace_bytes,
                                             const void* beta,
                                             const cudnnFilterDescriptor_t dw_shape, void* dw) {
  return call(CUDNN_STATUS_EXECUTION_FAILED, [&] {
    if (algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 ||
        algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3)
      fake_cuda::found("an algorithm of cuDNN that is not deterministic");
    return ask(handle, {*x_shape, *dy_shape, *dw_shape, *convolution},
               {3, algorithm, alpha, beta, x, dy, x_shape->elements(), dy_shape->elements(), dw,
                dw_shape->elements(), workspace, workspace_bytes, "cudnnConvolutionBackwardFilter"},
               [](auto& sums, const float* a, const float* b, auto i, auto j, auto k) {
                 sums[index(j)] += double{a[i]} * b[k];
               });
  });
}

}  // extern "C"
