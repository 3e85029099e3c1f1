#include "backend/cuda/convolution.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.hpp"

namespace pipetrain::cuda {
namespace {

using Dimensions = std::array<std::int64_t, 4>;

std::array<int, 4> counted(const std::string& layer, const Dimensions& dimensions) {
  std::int64_t elements = 1;
  std::array<int, 4> narrow{};
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    elements *= dimensions[i];
    narrow[i] = static_cast<int>(dimensions[i]);
    if (elements > std::numeric_limits<int>::max())
      throw DeviceError(fmt::format(
          "layer \"{}\": a tensor of {} elements is more than cuDNN's convolutions count; use "
          "smaller micro-batches or backend = \"cpu\"",
          layer, fmt::join(dimensions, " x ")));
  }
  return narrow;
}

Dimensions image(std::int64_t samples, const Shape& shape) {
  return {samples, shape.dims[0], shape.dims[1], shape.dims[2]};
}

std::array<int, 2> narrow(const Pair& pair) {
  return {static_cast<int>(pair[0]), static_cast<int>(pair[1])};
}

void describe(const std::string& layer, const TensorDescriptor& tensor,
              const std::array<int, 4>& size) {
  check(cudnnSetTensor4dDescriptor(tensor.get(), CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, size[0],
                                   size[1], size[2], size[3]),
        layer, "describe a tensor");
}

}  // namespace

ConvolutionPlan plan_convolution(const Conv2d& spec, const Problem& problem) {
  const std::string& layer = problem.layer->name;
  const Shape &in = problem.inputs[0], &out = problem.output;
  return {.input = counted(layer, image(problem.samples, in)),
          .output = counted(layer, image(problem.samples, out)),
          .filter = counted(
              layer, {out.dims[0], in.dims[0] / spec.groups, spec.kernel[0], spec.kernel[1]}),
          .padding = narrow(spec.padding),
          .stride = narrow(spec.stride),
          .groups = static_cast<int>(spec.groups)};
}

// CUDNN_FMA_MATH: f32 is f32, where the default would take TF32.
ConvolutionDescriptors::ConvolutionDescriptors(const std::string& layer,
                                               const ConvolutionPlan& plan) {
  describe(layer, input, plan.input);
  describe(layer, output, plan.output);
  check(cudnnSetFilter4dDescriptor(filter.get(), CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW,
                                   plan.filter[0], plan.filter[1], plan.filter[2], plan.filter[3]),
        layer, "describe its weights");
  check(cudnnSetConvolution2dDescriptor(product.get(), plan.padding[0], plan.padding[1],
                                        plan.stride[0], plan.stride[1], 1, 1,
                                        CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        layer, "describe a convolution");
  check(cudnnSetConvolutionGroupCount(product.get(), plan.groups), layer, "set its groups");
  check(cudnnSetConvolutionMathType(product.get(), CUDNN_FMA_MATH), layer, "set its arithmetic");
}

ConvolutionAlgorithms::ConvolutionAlgorithms(std::span<const int> devices) {
  for (const int device : std::set<int>(devices.begin(), devices.end())) {
    check(cudaSetDevice(device), "use the device");
    libraries_.push_back({device, Cudnn()});
  }
}

template <class Algorithm, class Ask>
Chosen<Algorithm> ConvolutionAlgorithms::choose(const std::string& layer, const char* what,
                                                std::initializer_list<Algorithm> candidates,
                                                Ask ask) const {
  const std::lock_guard lock(mutex_);
  cudnnStatus_t status = CUDNN_STATUS_NOT_SUPPORTED;
  for (const Algorithm candidate : candidates) {
    Chosen<Algorithm> chosen{candidate, 0};
    for (const Library& library : libraries_) {
      check(cudaSetDevice(library.device), "use the device");
      std::size_t bytes = 0;
      status = ask(library.cudnn.get(), candidate, &bytes);
      if (status != CUDNN_STATUS_SUCCESS) break;
      chosen.workspace_bytes = std::max(chosen.workspace_bytes, bytes);
    }
    if (status == CUDNN_STATUS_SUCCESS) return chosen;
  }
  throw_device_error(layer, what, failure(status));
}

ConvolutionAlgorithms::Forward ConvolutionAlgorithms::forward(
    const std::string& layer, const ConvolutionDescriptors& d) const {
  return choose(
      layer, "do its forward",
      {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM},
      [&](cudnnHandle_t cudnn, cudnnConvolutionFwdAlgo_t algorithm, std::size_t* bytes) {
        return cudnnGetConvolutionForwardWorkspaceSize(cudnn, d.input.get(), d.filter.get(),
                                                       d.product.get(), d.output.get(), algorithm,
                                                       bytes);
      });
}

// Algorithms 0 and 3 of the backwards add up in an order of chance.
ConvolutionAlgorithms::BackwardData ConvolutionAlgorithms::backward_data(
    const std::string& layer, const ConvolutionDescriptors& d) const {
  return choose(
      layer, "do its input gradient",
      {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED},
      [&](cudnnHandle_t cudnn, cudnnConvolutionBwdDataAlgo_t algorithm, std::size_t* bytes) {
        return cudnnGetConvolutionBackwardDataWorkspaceSize(cudnn, d.filter.get(), d.output.get(),
                                                            d.product.get(), d.input.get(),
                                                            algorithm, bytes);
      });
}

ConvolutionAlgorithms::BackwardFilter ConvolutionAlgorithms::backward_filter(
    const std::string& layer, const ConvolutionDescriptors& d) const {
  return choose(
      layer, "do its weight gradient",
      {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED},
      [&](cudnnHandle_t cudnn, cudnnConvolutionBwdFilterAlgo_t algorithm, std::size_t* bytes) {
        return cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnn, d.input.get(), d.output.get(),
                                                              d.product.get(), d.filter.get(),
                                                              algorithm, bytes);
      });
}

}  // namespace pipetrain::cuda
