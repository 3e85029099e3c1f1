// y = x W^T + b over the last dimension, by cuBLASLt: bias and relu in the product's epilogue. The
// bias gradient is our own sum, in f64: that of an epilogue cannot be added to what is there.
#include "backend/cuda/kernel.hpp"
#include "backend/cuda/linear_plan.hpp"
#include "backend/cuda/reduce.hpp"

namespace pipetrain::cuda {

MatmulProblem linear_forward(const LinearSizes& sizes, const LinearEpilogue& epilogue) {
  constexpr cublasLtEpilogue_t epilogues[2][2] = {
      {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU},
      {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS}};
  return {.m = sizes.out,
          .n = sizes.rows,
          .k = sizes.in,
          .transposes_a = true,
          .epilogue = epilogues[epilogue.bias][epilogue.rectifies]};
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
        forward_(problem_.layer->name,
                 linear_forward(sizes_, {.bias = bias_, .rectifies = problem_.rectifies})),
        input_gradient_(problem_.layer->name, linear_input_gradient(sizes_)),
        weight_gradient_(problem_.layer->name, linear_weight_gradient(sizes_)) {
    traits_.backward_weight_reads_inputs = true;
    traits_.scratch_bytes = kMatmulScratchBytes;
  }

  void forward(const ForwardArguments& a) override {
    forward_(device(a.stream), {.a = floats(a.weights.parameters[0]),
                                .b = floats(a.inputs[0]),
                                .bias = bias_ ? floats(a.weights.parameters[1]) : nullptr,
                                .d = floats(a.output),
                                .scratch = a.scratch});
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
  Matmul forward_, input_gradient_, weight_gradient_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Linear& spec, Problem problem) {
  return std::make_unique<LinearKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cuda
