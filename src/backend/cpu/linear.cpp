// y = x W^T + b by our own loops. The weights are stored in panels of 32 outputs, [out / 32][in][32],
// which the forward streams, the weight gradient is written in, and the input gradient reads as
// they are: no copy is ever packed. `in` is in the order in which the input is stored.
#include <algorithm>
#include <cstring>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/parallel.hpp"
#include "backend/cpu/vector_loops.hpp"

namespace pipetrain::cpu {
namespace {

class LinearKernel final : public CpuKernel {
 public:
  LinearKernel(const Linear& spec, Problem problem)
      : CpuKernel(std::move(problem)),
        in_(problem_.inputs[0].stored_elements()),
        out_(spec.out_features),
        panels_(round_up(out_, kPanel) / kPanel),
        work_(problem_.samples * in_ * out_),
        bias_(spec.bias) {
    traits_.backward_weight_reads_inputs = true;
    traits_.scratch_bytes =
        static_cast<std::size_t>(panels_ * problem_.samples * kPanel) * sizeof(float);
  }

  void forward(const ForwardArguments& a) override {
    const LinearForwardLoop loop{.x = floats(a.inputs[0]),
                                 .weights = floats(a.weights.parameters[0]),
                                 .bias = bias_ ? floats(a.weights.parameters[1]) : nullptr,
                                 .y = floats(a.output),
                                 .samples = problem_.samples,
                                 .in = in_,
                                 .out = out_,
                                 .rectify = problem_.rectifies};
    parallel_ranges(panels_, work_, [&](std::int64_t begin, std::int64_t end) {
      loops_.linear_forward(loop, begin, end);
    });
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    gather_panels(floats(a.output_gradient), floats(a.scratch));
    const LinearInputLoop loop{.gradient = floats(a.scratch),
                               .weights = floats(a.weights.parameters[0]),
                               .dx = floats(a.input_gradients[0]),
                               .samples = problem_.samples,
                               .in = in_,
                               .panels = panels_};
    parallel_ranges(in_, work_, [&](std::int64_t begin, std::int64_t end) {
      loops_.linear_backward_input(loop, begin, end);
    });
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    gather_panels(floats(a.output_gradient), floats(a.scratch));
    const LinearWeightLoop loop{.x = floats(a.inputs[0]),
                                .gradient = floats(a.scratch),
                                .weights = floats(a.gradients[0]),
                                .bias = bias_ ? floats(a.gradients[1]) : nullptr,
                                .samples = problem_.samples,
                                .in = in_,
                                .accumulate = a.accumulate};
    parallel_ranges(panels_, work_, [&](std::int64_t begin, std::int64_t end) {
      loops_.linear_backward_weight(loop, begin, end);
    });
  }

 private:
  // [samples][out] -> [out / 32][samples][32]: rows of a panel lie together, its end is zeros.
  void gather_panels(const float* gradient, float* panels) const {
    for (std::int64_t p = 0; p < panels_; ++p) {
      const std::int64_t filled = std::min(kPanel, out_ - p * kPanel);
      for (std::int64_t n = 0; n < problem_.samples; ++n) {
        float* row = panels + (p * problem_.samples + n) * kPanel;
        std::memcpy(row, gradient + n * out_ + p * kPanel,
                    static_cast<std::size_t>(filled) * sizeof(float));
        for (std::int64_t i = filled; i < kPanel; ++i) row[i] = 0;
      }
    }
  }

  const VectorLoops& loops_ = vector_loops();
  std::int64_t in_, out_, panels_, work_;
  bool bias_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Linear& spec, Problem problem) {
  return std::make_unique<LinearKernel>(spec, std::move(problem));
}

ParameterLayout parameter_layout(const Linear& spec, const Problem& problem, int parameter) {
  if (parameter == 1) return channel_parameter(spec.out_features, kPanel);
  const ValueLayout input = problem.inputs[0];
  const std::int64_t in = input.stored_elements();
  return {.elements = round_up(spec.out_features, kPanel) * in,
          .position = [input, in](std::int64_t index) {
            const std::int64_t o = index / input.elements(), i = index % input.elements();
            return (o / kPanel * in + input.position(i)) * kPanel + o % kPanel;
          }};
}

}  // namespace pipetrain::cpu
