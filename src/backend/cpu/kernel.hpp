// What the kernels of this backend share: the problem that a kernel is made for, and its factories.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backend/backend.hpp"
#include "backend/cpu/layout.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain {
struct Layer;
}

namespace pipetrain::cpu {

class Sinusoids;  // sinusoids.hpp

// Which kernel does a relu's backward, decided on the uncut graph (lowering.cpp). The choice does
// not change the gradient that leaves the relu and its neighbours.
enum class Mask {
  Own,       // the relu's kernel, by its output
  Producer,  // the batch_norm before it
  Reader,    // the max_pool or linear layer after it
};

// A layer in its graph, as lowered.
struct Problem {
  const Layer* layer = nullptr;
  std::vector<ValueLayout> inputs;
  ValueLayout output;
  bool with_relu = false;            // applies the relu that alone reads this output
  bool relu_ahead = false;           // relu: the previous kernel did the forward
  Mask mask = Mask::Own;             // relu: which kernel does the backward
  bool masks_input = false;          // max_pool, linear: does the backward of the relu before it
  bool wants_input_gradient = true;  // there are parameters upstream of this layer (lstm: always)
  bool keeps_packed = false;         // packs the weights per version, for the input gradient
  bool plain_weights = false;        // linear: as in PyTorch, since another layer shares them
  bool multiplies_bf16 = false;      // conv2d, linear, lstm: oneDNN multiplies bf16 by bf16
  std::int64_t samples = 1;          // of the kernel; while lowering: of a training micro-batch
  Mode mode = Mode::Train;
  Sinusoids* sinusoids = nullptr;  // of the backend; used by sinusoidal_positions

  std::int64_t input_elements() const { return samples * inputs[0].stored_elements(); }
  std::int64_t output_elements() const { return samples * output.stored_elements(); }
};

// Layers without parameters inherit this backward_weight(), which does nothing.
class CpuKernel : public Kernel {
 public:
  explicit CpuKernel(Problem problem) : problem_(std::move(problem)) {}
  const KernelTraits& traits() const final { return traits_; }
  void backward_weight(const BackwardWeightArguments&) override {}

 protected:
  Problem problem_;
  KernelTraits traits_;
};

inline const float* floats(const void* memory) { return static_cast<const float*>(memory); }
inline float* floats(void* memory) { return static_cast<float*>(memory); }
inline const std::uint8_t* bytes(const void* memory) {
  return static_cast<const std::uint8_t*>(memory);
}
inline std::uint8_t* bytes(void* memory) { return static_cast<std::uint8_t*>(memory); }

// A kernel whose loops run over the element type in which its inputs and its output are stored.
template <template <class E> class K, class... Arguments>
std::unique_ptr<Kernel> make_by_element(Problem problem, const Arguments&... arguments) {
  return with_element(problem.output.element, [&]<class E>() -> std::unique_ptr<Kernel> {
    return std::make_unique<K<E>>(std::move(problem), arguments...);
  });
}

#include "backend/make_kernel.inl"

// One label for each row of `classes` outputs; a row is a sample, or a position of a sequence.
// `smoothing`: Graph::label_smoothing.
std::unique_ptr<LossKernel> make_cross_entropy(const ValueLayout& output, std::int64_t samples,
                                               std::int64_t classes, double smoothing);
std::unique_ptr<LossKernel> make_mse(const ValueLayout& output, std::int64_t samples);

// ---- parameters

struct ParameterLayout {
  std::int64_t elements = 0;                           // as stored
  std::function<std::int64_t(std::int64_t)> position;  // plain index -> stored index
};

ParameterLayout parameter_layout(const Linear& spec, const Problem& problem, int parameter);
ParameterLayout parameter_layout(const Conv2d& spec, const Problem& problem, int parameter);
ParameterLayout parameter_layout(const BatchNorm& spec, const Problem& problem, int parameter);
ParameterLayout parameter_layout(const LayerNorm& spec, const Problem& problem, int parameter);
ParameterLayout parameter_layout(const Embedding& spec, const Problem& problem, int parameter);
ParameterLayout parameter_layout(const LearnedPositions& spec, const Problem& problem,
                                 int parameter);
ParameterLayout parameter_layout(const Lstm& spec, const Problem& problem, int parameter);
ParameterLayout parameter_layout(const AdditiveAttention& spec, const Problem& problem,
                                 int parameter);

// One value per channel, zero-padded to a multiple of `multiple`.
ParameterLayout channel_parameter(std::int64_t channels, std::int64_t multiple);

// The packed copy of its weights that a layer reads in one direction; 0 bytes if it reads them as
// stored, which may depend on the number of samples. If no input gradient can be wanted
// (Problem::wants_input_gradient), no packed copy is kept per version: a kernel that is asked for
// one anyway packs into its scratch.
std::size_t packed_bytes(const Linear& spec, const Problem& problem, Pass pass);
std::size_t packed_bytes(const Conv2d& spec, const Problem& problem, Pass pass);
std::size_t packed_bytes(const Lstm& spec, const Problem& problem, Pass pass);
void pack(const Linear& spec, const Problem& problem, Pass pass, const float* weights,
          void* packed);
void pack(const Conv2d& spec, const Problem& problem, Pass pass, const float* weights,
          void* packed);
void pack(const Lstm& spec, const Problem& problem, Pass pass,
          std::span<const void* const> parameters, void* packed);

// ---- bf16 products

// Whether oneDNN has bf16 products for the layer, in the layouts of this backend.
bool has_bf16_products(const Linear& spec, const Problem& problem);
bool has_bf16_products(const Conv2d& spec, const Problem& problem);
bool has_bf16_products(const Lstm& spec, const Problem& problem);

}  // namespace pipetrain::cpu
