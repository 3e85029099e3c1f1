#include "backend/cuda/convolution.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.hpp"
#include "graph/layer.hpp"

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
      throw DeviceError(
          fmt::format("layer \"{}\": a tensor of {} elements is larger than cuDNN's convolutions "
                      "can index; use smaller micro-batches or backend = \"cpu\"",
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

constexpr int kAdviceMax = 32;  // more than cuDNN has algorithms and math types for a convolution

// How cuDNN says that an algorithm cannot do a convolution: NOT_SUPPORTED, in places BAD_PARAM, or
// one of their finer statuses. Anything else is a failure.
bool is_refusal(cudnnStatus_t status) {
  static_assert(CUDNN_STATUS_BAD_PARAM == 2000 && CUDNN_STATUS_NOT_SUPPORTED == 3000);
  return status >= 2000 && status < 4000;
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

// CUDNN_FMA_MATH: true f32, where the default would use TF32.
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

ConvolutionAlgorithms::ConvolutionAlgorithms(std::span<const int> devices)
    : devices_(devices.begin(), devices.end()) {}

// Made on first use: cuDNN takes a while to start, and not every model has convolutions.
auto ConvolutionAlgorithms::libraries() const -> const std::list<Library>& {
  if (!libraries_.empty()) return libraries_;
  std::list<Library> started;
  for (const int device : devices_) started.emplace_back(device);
  libraries_.swap(started);
  return libraries_;
}

template <class Algorithm, class Ask>
std::optional<Chosen<Algorithm>> ConvolutionAlgorithms::first_that_works(
    const Purpose& purpose, std::span<const Algorithm> candidates, Ask ask,
    cudnnStatus_t& refusal) const {
  for (const Algorithm candidate : candidates) {
    Chosen<Algorithm> chosen{candidate, 0};
    const bool works = std::ranges::all_of(libraries(), [&](const Library& library) {
      make_current(library.device);
      std::size_t bytes = 0;
      const cudnnStatus_t status = ask(library.cudnn.get(), candidate, &bytes);
      if (is_refusal(status)) {
        refusal = status;
        return false;
      }
      check(status, purpose.layer, purpose.what);
      chosen.workspace_bytes = std::max(chosen.workspace_bytes, bytes);
      return true;
    });
    if (works) return chosen;
  }
  return std::nullopt;
}

template <class Performance, class Advise>
auto ConvolutionAlgorithms::advised(const Purpose& purpose, Advise advise) const {
  std::vector<decltype(Performance::algo)> good;
  std::array<Performance, kAdviceMax> advice{};
  int count = 0;
  const Library& library = libraries().front();
  make_current(library.device);
  const cudnnStatus_t status = advise(library.cudnn.get(), kAdviceMax, &count, advice.data());
  if (is_refusal(status)) return good;
  check(status, purpose.layer, purpose.what);
  for (const Performance& p : std::span(advice).first(count))
    if (p.status == CUDNN_STATUS_SUCCESS && p.determinism == CUDNN_DETERMINISTIC &&
        p.mathType == CUDNN_FMA_MATH)
      good.push_back(p.algo);
  return good;
}

template <class Performance, class Algorithm, class Ask, class Advise>
Chosen<Algorithm> ConvolutionAlgorithms::choose(const Purpose& purpose,
                                                std::initializer_list<Algorithm> candidates,
                                                Ask ask, Advise advise) const {
  const std::lock_guard lock(mutex_);
  cudnnStatus_t refusal = CUDNN_STATUS_NOT_SUPPORTED;
  if (const auto chosen =
          first_that_works(purpose, std::span<const Algorithm>(candidates), ask, refusal))
    return *chosen;
  const std::vector<Algorithm> more = advised<Performance>(purpose, advise);
  if (const auto chosen = first_that_works(purpose, std::span<const Algorithm>(more), ask, refusal))
    return *chosen;
  Failure why = failure(refusal);
  why.reason = "no deterministic algorithm works: " + why.reason;
  throw_device_error(purpose.layer, purpose.what, why);
}

ConvolutionAlgorithms::Forward ConvolutionAlgorithms::forward(
    const std::string& layer, const ConvolutionDescriptors& d) const {
  return choose<cudnnConvolutionFwdAlgoPerf_t>(
      Purpose{layer, "do its forward"},
      {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM},
      [&](cudnnHandle_t cudnn, cudnnConvolutionFwdAlgo_t algorithm, std::size_t* bytes) {
        return cudnnGetConvolutionForwardWorkspaceSize(cudnn, d.input.get(), d.filter.get(),
                                                       d.product.get(), d.output.get(), algorithm,
                                                       bytes);
      },
      [&](cudnnHandle_t cudnn, int most, int* count, cudnnConvolutionFwdAlgoPerf_t* advice) {
        return cudnnGetConvolutionForwardAlgorithm_v7(cudnn, d.input.get(), d.filter.get(),
                                                      d.product.get(), d.output.get(), most, count,
                                                      advice);
      });
}

// Algorithms 0 and 3 of the backwards add up in no fixed order.
ConvolutionAlgorithms::BackwardData ConvolutionAlgorithms::backward_data(
    const std::string& layer, const ConvolutionDescriptors& d) const {
  return choose<cudnnConvolutionBwdDataAlgoPerf_t>(
      Purpose{layer, "do its input gradient"},
      {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED},
      [&](cudnnHandle_t cudnn, cudnnConvolutionBwdDataAlgo_t algorithm, std::size_t* bytes) {
        return cudnnGetConvolutionBackwardDataWorkspaceSize(cudnn, d.filter.get(), d.output.get(),
                                                            d.product.get(), d.input.get(),
                                                            algorithm, bytes);
      },
      [&](cudnnHandle_t cudnn, int most, int* count, cudnnConvolutionBwdDataAlgoPerf_t* advice) {
        return cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnn, d.filter.get(), d.output.get(),
                                                           d.product.get(), d.input.get(), most,
                                                           count, advice);
      });
}

ConvolutionAlgorithms::BackwardFilter ConvolutionAlgorithms::backward_filter(
    const std::string& layer, const ConvolutionDescriptors& d) const {
  return choose<cudnnConvolutionBwdFilterAlgoPerf_t>(
      Purpose{layer, "do its weight gradient"},
      {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED},
      [&](cudnnHandle_t cudnn, cudnnConvolutionBwdFilterAlgo_t algorithm, std::size_t* bytes) {
        return cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnn, d.input.get(), d.output.get(),
                                                              d.product.get(), d.filter.get(),
                                                              algorithm, bytes);
      },
      [&](cudnnHandle_t cudnn, int most, int* count, cudnnConvolutionBwdFilterAlgoPerf_t* advice) {
        return cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnn, d.input.get(), d.output.get(),
                                                             d.product.get(), d.filter.get(), most,
                                                             count, advice);
      });
}

}  // namespace pipetrain::cuda
