// Cross-correlation with stride, zero padding and groups; W is [O, I / groups, kh, kw].
//
// A convolution is a set of products: an input element times a weight, added to an output element.
// One loop lists them; forward and the two halves of backward each make the sums of one of the
// three.
#include <algorithm>

#include "backend/reference/images.hpp"
#include "backend/reference/kernel.hpp"

namespace pipetrain::reference {
namespace {

struct Product {
  std::int64_t input, weight, output;  // indices
};

class Conv2dKernel final : public ReferenceKernel {
 public:
  Conv2dKernel(const Conv2d& spec, Problem problem)
      : ReferenceKernel(std::move(problem)),
        spec_(spec),
        in_(problem_.inputs[0]),
        out_(problem_.output),
        in_per_group_(in_.channels / spec.groups),
        out_per_group_(out_.channels / spec.groups),
        weights_(out_.channels * in_per_group_ * spec.kernel[0] * spec.kernel[1]) {
    traits_.backward_weight_reads_inputs = true;
    traits_.scratch_bytes = sizeof(double) * std::max({problem_.input_elements(),
                                                       problem_.output_elements(), weights_});
  }

  void forward(const ForwardArguments& a) override {
    const float *x = floats(a.inputs[0]), *w = floats(a.weights.parameters[0]);
    const std::int64_t pixels = out_.height * out_.width;
    auto* sums = static_cast<double*>(a.scratch);
    for (std::int64_t i = 0; i < problem_.output_elements(); ++i)
      sums[i] = spec_.bias ? floats(a.weights.parameters[1])[i / pixels % out_.channels] : 0.0f;
    for_each_product([&](Product p) { sums[p.output] += double{x[p.input]} * w[p.weight]; });
    std::copy_n(sums, problem_.output_elements(), floats(a.output));
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    const float *dy = floats(a.output_gradient), *w = floats(a.weights.parameters[0]);
    auto* sums = static_cast<double*>(a.scratch);
    std::fill_n(sums, problem_.input_elements(), 0.0);
    for_each_product([&](Product p) { sums[p.input] += double{dy[p.output]} * w[p.weight]; });
    std::copy_n(sums, problem_.input_elements(), floats(a.input_gradients[0]));
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    const float *x = floats(a.inputs[0]), *dy = floats(a.output_gradient);
    auto* sums = static_cast<double*>(a.scratch);
    std::fill_n(sums, weights_, 0.0);
    for_each_product([&](Product p) { sums[p.weight] += double{x[p.input]} * dy[p.output]; });
    for (std::int64_t i = 0; i < weights_; ++i)
      put(floats(a.gradients[0])[i], sums[i], a.accumulate);
    if (spec_.bias) bias_gradient(dy, floats(a.gradients[1]), a.accumulate);
  }

 private:
  void bias_gradient(const float* dy, float* gradient, bool accumulate) const {
    for (std::int64_t o = 0; o < out_.channels; ++o) {
      double sum = 0;
      for (std::int64_t n = 0; n < problem_.samples; ++n)
        for (std::int64_t i = 0; i < out_.height * out_.width; ++i)
          sum += dy[out_.at(n, o, 0, 0) + i];
      put(gradient[o], sum, accumulate);
    }
  }

  template <class Visit>
  void for_each_product(Visit visit) const {
    for (std::int64_t n = 0; n < problem_.samples; ++n)
      for (std::int64_t o = 0; o < out_.channels; ++o)
        for (std::int64_t i = 0; i < in_per_group_; ++i)
          for (std::int64_t ky = 0; ky < spec_.kernel[0]; ++ky)
            for (std::int64_t kx = 0; kx < spec_.kernel[1]; ++kx)
              for_each_pixel(n, o, i, ky, kx, visit);
  }

  // Visits all products of one weight in one sample.
  template <class Visit>
  void for_each_pixel(std::int64_t n, std::int64_t o, std::int64_t i, std::int64_t ky,
                      std::int64_t kx, Visit visit) const {
    const std::int64_t channel = o / out_per_group_ * in_per_group_ + i;
    const std::int64_t weight =
        ((o * in_per_group_ + i) * spec_.kernel[0] + ky) * spec_.kernel[1] + kx;
    for (std::int64_t y = 0; y < out_.height; ++y)
      for (std::int64_t x = 0; x < out_.width; ++x) {
        const std::int64_t from_y = y * spec_.stride[0] - spec_.padding[0] + ky;
        const std::int64_t from_x = x * spec_.stride[1] - spec_.padding[1] + kx;
        if (in_.holds(from_y, from_x))
          visit({in_.at(n, channel, from_y, from_x), weight, out_.at(n, o, y, x)});
      }
  }

  Conv2d spec_;
  Images in_, out_;
  std::int64_t in_per_group_, out_per_group_, weights_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Conv2d& spec, Problem problem) {
  return std::make_unique<Conv2dKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::reference
