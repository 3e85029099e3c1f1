// y = x W^T + b over the last dimension, by cuBLASLt, with the bias in the product's epilogue. The
// relu is a separate kernel of our own: an epilogue's would turn a NaN into 0, hiding it from
// on_nonfinite. So is the bias gradient, in f64: an epilogue cannot add to what is there.
#include "backend/cuda/device/elementwise.hpp"
#include "backend/cuda/device/reduce.hpp"
#include "backend/cuda/kernel.hpp"
#include "backend/cuda/linear_plan.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cuda {

MatmulProblem linear_forward(const LinearSizes& sizes, bool bias) {
  return {.m = sizes.out, .n = sizes.rows, .k = sizes.in, .transposes_a = true, .adds_bias = bias};
}
MatmulProblem linear_input_gradient(const LinearSizes& sizes) {
  return {.m = sizes.in, .n = sizes.rows, .k = sizes.out};
}
MatmulProblem linear_weight_gradient(const LinearSizes& sizes) {
  return {.m = sizes.in, .n = sizes.out, .k = sizes.rows, .transposes_b = true};
}

namespace {

LinearSizes sizes_of(const Linear& spec, const Problem& problem) {
  return {.rows = problem.output_elements() / spec.out_features,
          .in = problem.inputs[0].dims.back(),
          .out = spec.out_features};
}

class LinearKernel final : public CudaKernel {
 public:
  LinearKernel(const Linear& spec, Problem problem)
      : CudaKernel(std::move(problem)),
        bias_(spec.bias),
        sizes_(sizes_of(spec, problem_)),
        adds_bias_(bias_ && !problem_.with_relu),
        forward_(problem_.layer->name, linear_forward(sizes_, adds_bias_)),
        input_gradient_(problem_.layer->name, linear_input_gradient(sizes_)),
        weight_gradient_(problem_.layer->name, linear_weight_gradient(sizes_)) {
    traits_.backward_weight_reads_inputs = true;
    traits_.scratch_bytes = kMatmulScratchBytes;
  }

  void forward(const ForwardArguments& a) override {
    DeviceStream& stream = device(a.stream);
    const float* const bias = bias_ ? floats(a.weights.parameters[1]) : nullptr;
    forward_(stream, {.a = floats(a.weights.parameters[0]),
                      .b = floats(a.inputs[0]),
                      .bias = adds_bias_ ? bias : nullptr,
                      .d = floats(a.output),
                      .scratch = a.scratch});
    if (!problem_.with_relu) return;
    if (bias)
      add_bias(stream.handle(), floats(a.output), bias, {sizes_.rows, sizes_.out, 1}, true);
    else
      apply_relu(stream.handle(), floats(a.output), problem_.output_elements());
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    input_gradient_(device(a.stream), {.a = floats(a.weights.parameters[0]),
                                       .b = floats(a.output_gradient),
                                       .d = floats(a.input_gradients[0]),
                                       .scratch = a.scratch});
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    weight_gradient_(device(a.stream), {.a = floats(a.inputs[0]),
                                        .b = floats(a.output_gradient),
                                        .d = floats(a.gradients[0]),
                                        .accumulate = a.accumulate,
                                        .scratch = a.scratch});
    if (bias_)
      column_sums({device(a.stream).handle(), device(a.stream).partial_sums()},
                  floats(a.output_gradient), sizes_.rows, sizes_.out, floats(a.gradients[1]),
                  a.accumulate);
  }

 private:
  bool bias_;
  LinearSizes sizes_;
  bool adds_bias_;  // in the product; otherwise together with the relu
  Matmul forward_, input_gradient_, weight_gradient_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Linear& spec, Problem problem) {
  return std::make_unique<LinearKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cuda
