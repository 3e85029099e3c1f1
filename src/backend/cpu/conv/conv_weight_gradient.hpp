// The weight gradient of a convolution by oneDNN, in parts that are added up in a fixed order. The
// library itself would make one part per thread, so its bits would depend on the number of threads.
// Here one thread computes a part, which is some samples of the micro-batch, and the number of
// parts follows from the convolution alone.
#pragma once

#include <vector>

#include "backend/cpu/conv/conv_calls.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain::cpu {

class ConvWeightGradient {
 public:
  ConvWeightGradient() = default;
  // Throws oneDNN's own exceptions: wrap the call in with_onednn().
  ConvWeightGradient(const Conv2d& spec, const Problem& problem, const ConvLayout& layout);

  // Images in the kernel's layout, gradients in the layout of its parameters; scratch:
  // scratch_bytes().
  void operator()(const BackwardWeightArguments& a);
  std::size_t scratch_bytes() const;

 private:
  struct Part {
    std::int64_t first_sample = 0;
    ConvertedCall call;
  };
  struct Sums {  // of one part
    float *weights, *bias;
  };

  bool is_alone(const BackwardWeightArguments& a) const {
    return parts_.size() == 1 && !a.accumulate;
  }
  Sums sums(std::size_t part, const BackwardWeightArguments& a) const;
  void run(std::size_t part, const BackwardWeightArguments& a);
  void add_up(const BackwardWeightArguments& a) const;
  void mark_diagonal(const Conv2d& spec, const Problem& problem);

  std::string name_;
  bool has_bias_ = false;
  std::int64_t weight_elements_ = 0, outputs_ = 0, work_ = 0;
  std::size_t input_bytes_ = 0, output_bytes_ = 0;  // per sample
  std::vector<Part> parts_;
  std::vector<std::uint8_t> on_diagonal_;  // if groups are merged: 1 for each weight that exists
};

}  // namespace pipetrain::cpu
