// Layer normalisation (Ba, Kiros and Hinton, 2016) of each row of C elements:
// x' = (x - mean) / sqrt(var + eps), y = gamma x' + beta, with the biased variance.
#include <cmath>

#include "backend/reference/kernel.hpp"
#include "backend/reference/rows.hpp"
#include "base/bytes_of.hpp"

namespace pipetrain::reference {
namespace {

struct RowStatistics {
  double mean, scale;  // scale = 1 / sqrt(var + eps)
};

class LayerNormKernel final : public ReferenceKernel {
 public:
  LayerNormKernel(const LayerNorm& spec, Problem problem)
      : ReferenceKernel(std::move(problem)), spec_(spec), rows_(problem_.output, problem_.samples) {
    traits_.backward_input_reads_inputs = traits_.backward_weight_reads_inputs = true;
    if (problem_.mode == Mode::Train) traits_.saved_bytes = bytes_of<RowStatistics>(rows_.rows);
  }

  void forward(const ForwardArguments& a) override {
    const float* gamma = floats(a.weights.parameters[0]);
    for (std::int64_t row = 0; row < rows_.rows; ++row) {
      const float* x = floats(a.inputs[0]) + row * rows_.width;
      const RowStatistics of = statistics(x);
      if (problem_.mode == Mode::Train) static_cast<RowStatistics*>(a.saved)[row] = of;
      for (std::int64_t c = 0; c < rows_.width; ++c) {
        const double beta = spec_.bias ? floats(a.weights.parameters[1])[c] : 0.0f;
        floats(a.output)[row * rows_.width + c] =
            static_cast<float>((x[c] - of.mean) * of.scale * gamma[c] + beta);
      }
    }
  }

  // With g = gamma dy: dx = scale (g - mean(g) - x' mean(g x')).
  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    const float* gamma = floats(a.weights.parameters[0]);
    const auto width = static_cast<double>(rows_.width);
    for (std::int64_t row = 0; row < rows_.rows; ++row) {
      const float *x = floats(a.inputs[0]) + row * rows_.width,
                  *dy = floats(a.output_gradient) + row * rows_.width;
      const auto [mean, scale] = static_cast<const RowStatistics*>(a.saved)[row];
      double sum = 0, product = 0;
      for (std::int64_t c = 0; c < rows_.width; ++c) {
        const double g = double{gamma[c]} * dy[c];
        sum += g;
        product += g * (x[c] - mean) * scale;
      }
      for (std::int64_t c = 0; c < rows_.width; ++c) {
        const double g = double{gamma[c]} * dy[c], normal = (x[c] - mean) * scale;
        floats(a.input_gradients[0])[row * rows_.width + c] =
            static_cast<float>(scale * (g - sum / width - normal * product / width));
      }
    }
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    for (std::int64_t c = 0; c < rows_.width; ++c) {
      double sum = 0, product = 0;
      for (std::int64_t row = 0; row < rows_.rows; ++row) {
        const std::int64_t i = row * rows_.width + c;
        const auto [mean, scale] = static_cast<const RowStatistics*>(a.saved)[row];
        const double dy = floats(a.output_gradient)[i];
        sum += dy;
        product += dy * (floats(a.inputs[0])[i] - mean) * scale;
      }
      put(floats(a.gradients[0])[c], product, a.accumulate);
      if (spec_.bias) put(floats(a.gradients[1])[c], sum, a.accumulate);
    }
  }

 private:
  RowStatistics statistics(const float* x) const {
    const auto width = static_cast<double>(rows_.width);
    double sum = 0, squares = 0;
    for (std::int64_t c = 0; c < rows_.width; ++c) sum += x[c];
    const double mean = sum / width;
    for (std::int64_t c = 0; c < rows_.width; ++c) squares += (x[c] - mean) * (x[c] - mean);
    return {mean, 1 / std::sqrt(squares / width + spec_.eps)};
  }

  LayerNorm spec_;
  Rows rows_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const LayerNorm& spec, Problem problem) {
  return std::make_unique<LayerNormKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::reference
