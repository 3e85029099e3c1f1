// What the kernels of this backend share: the problem that a kernel is made for, and its factories.
// Values are plain f32, [samples, shape] row-major; nothing is packed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.hpp"
#include "backend/cuda/device_stream.hpp"
#include "graph/layer_spec.hpp"
#include "graph/shape.hpp"

namespace pipetrain {
struct Layer;
}

namespace pipetrain::cuda {

class ConvolutionAlgorithms;  // convolution.hpp

// A layer in its graph, as lowered.
struct Problem {
  const Layer* layer = nullptr;
  std::vector<Shape> inputs;
  Shape output;
  bool with_relu = false;   // applies the relu that alone reads this output
  bool relu_ahead = false;  // relu: the previous kernel did the forward
  std::int64_t samples = 1;
  Mode mode = Mode::Train;
  const ConvolutionAlgorithms* convolutions = nullptr;  // of the backend; used by conv2d

  std::int64_t input_elements() const { return samples * inputs[0].elements(); }
  std::int64_t output_elements() const { return samples * output.elements(); }
};

// Layers without parameters inherit this backward_weight(), which does nothing.
class CudaKernel : public Kernel {
 public:
  explicit CudaKernel(Problem problem) : problem_(std::move(problem)) {}
  const KernelTraits& traits() const final { return traits_; }
  void backward_weight(const BackwardWeightArguments&) override {}

 protected:
  Problem problem_;
  KernelTraits traits_;
};

inline const float* floats(const void* memory) { return static_cast<const float*>(memory); }
inline float* floats(void* memory) { return static_cast<float*>(memory); }
inline DeviceStream& device(Stream* stream) { return static_cast<DeviceStream&>(*stream); }

#include "backend/make_kernel.inl"

// One label for each row of `classes` outputs; `smoothing`: Graph::label_smoothing.
std::unique_ptr<LossKernel> make_cross_entropy(std::int64_t rows, std::int64_t classes,
                                               double smoothing);
std::unique_ptr<LossKernel> make_mse(std::int64_t samples, std::int64_t elements);

}  // namespace pipetrain::cuda
