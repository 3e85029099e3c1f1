// Layer normalisation over the last dimension (Ba, Kiros and Hinton, 2016). Statistics and sums are
// f64; both halves of the backward use the statistics that the forward saved.
#include "backend/cuda/device/layer_norm.hpp"

#include "backend/cuda/kernel.hpp"
#include "base/bytes_of.hpp"

namespace pipetrain::cuda {
namespace {

class LayerNormKernel final : public CudaKernel {
 public:
  LayerNormKernel(const LayerNorm& spec, Problem problem)
      : CudaKernel(std::move(problem)),
        spec_(spec),
        size_{problem_.output_elements() / problem_.output.dims.back(),
              problem_.output.dims.back()} {
    traits_.backward_input_reads_inputs = traits_.backward_weight_reads_inputs = true;
    if (problem_.mode == Mode::Evaluate) return;
    traits_.saved_bytes = bytes_of<RowStatistics>(size_.rows);
    traits_.scratch_bytes = layer_norm_partials_bytes(size_);
  }

  void forward(const ForwardArguments& a) override {
    const bool trains = problem_.mode == Mode::Train;
    layer_norm(device(a.stream).handle(),
               {.size = size_,
                .x = floats(a.inputs[0]),
                .gamma = floats(a.weights.parameters[0]),
                .beta = spec_.bias ? floats(a.weights.parameters[1]) : nullptr,
                .eps = spec_.eps,
                .statistics = trains ? static_cast<RowStatistics*>(a.saved) : nullptr,
                .y = floats(a.output)});
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    layer_norm_input_gradient(device(a.stream).handle(),
                              backward(a.inputs[0], a.output_gradient, a.saved),
                              floats(a.weights.parameters[0]), floats(a.input_gradients[0]));
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    layer_norm_parameter_gradients(device(a.stream).handle(),
                                   backward(a.inputs[0], a.output_gradient, a.saved), a.scratch,
                                   {.gamma = floats(a.gradients[0]),
                                    .beta = spec_.bias ? floats(a.gradients[1]) : nullptr,
                                    .accumulate = a.accumulate});
  }

 private:
  LayerNormBackward backward(const void* x, const void* dy, const void* saved) const {
    return {.size = size_,
            .x = floats(x),
            .dy = floats(dy),
            .statistics = static_cast<const RowStatistics*>(saved)};
  }

  LayerNorm spec_;
  Rows size_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const LayerNorm& spec, Problem problem) {
  return std::make_unique<LayerNormKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cuda
