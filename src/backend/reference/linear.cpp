// y = x W^T + b over the last dimension; W is [out, in].
#include "backend/reference/kernel.hpp"

namespace pipetrain::reference {
namespace {

class LinearKernel final : public ReferenceKernel {
 public:
  LinearKernel(const Linear& spec, Problem problem)
      : ReferenceKernel(std::move(problem)),
        bias_(spec.bias),
        in_(problem_.inputs[0].dims.back()),
        out_(spec.out_features),
        rows_(problem_.output_elements() / out_) {
    traits_.backward_weight_reads_inputs = true;
  }

  void forward(const ForwardArguments& a) override {
    const float *x = floats(a.inputs[0]), *w = floats(a.weights.parameters[0]);
    float* y = floats(a.output);
    for (std::int64_t row = 0; row < rows_; ++row)
      for (std::int64_t o = 0; o < out_; ++o) {
        double sum = bias_ ? floats(a.weights.parameters[1])[o] : 0.0f;
        for (std::int64_t i = 0; i < in_; ++i) sum += double{x[row * in_ + i]} * w[o * in_ + i];
        y[row * out_ + o] = static_cast<float>(sum);
      }
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    const float *dy = floats(a.output_gradient), *w = floats(a.weights.parameters[0]);
    float* dx = floats(a.input_gradients[0]);
    for (std::int64_t row = 0; row < rows_; ++row)
      for (std::int64_t i = 0; i < in_; ++i) {
        double sum = 0;
        for (std::int64_t o = 0; o < out_; ++o) sum += double{dy[row * out_ + o]} * w[o * in_ + i];
        dx[row * in_ + i] = static_cast<float>(sum);
      }
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    const float *x = floats(a.inputs[0]), *dy = floats(a.output_gradient);
    for (std::int64_t o = 0; o < out_; ++o)
      for (std::int64_t i = 0; i < in_; ++i) {
        double sum = 0;
        for (std::int64_t row = 0; row < rows_; ++row)
          sum += double{dy[row * out_ + o]} * x[row * in_ + i];
        put(floats(a.gradients[0])[o * in_ + i], sum, a.accumulate);
      }
    if (bias_) bias_gradient(dy, floats(a.gradients[1]), a.accumulate);
  }

 private:
  void bias_gradient(const float* dy, float* gradient, bool accumulate) const {
    for (std::int64_t o = 0; o < out_; ++o) {
      double sum = 0;
      for (std::int64_t row = 0; row < rows_; ++row) sum += dy[row * out_ + o];
      put(gradient[o], sum, accumulate);
    }
  }

  bool bias_;
  std::int64_t in_, out_, rows_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Linear& spec, Problem problem) {
  return std::make_unique<LinearKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::reference
