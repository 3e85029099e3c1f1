// The weight gradient of a convolution by oneDNN, in parts that are added up in their order. Left
// to itself the library adds up one part per thread, so that its bits depend on their number.
// Here one thread does a part, some samples of the micro-batch, and how many parts there are
// follows from the convolution alone.
#pragma once

#include <exception>
#include <vector>

#include "backend/cpu/conv/conv_calls.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain::cpu {

class ConvWeightGradient {
 public:
  ConvWeightGradient() = default;
  // In oneDNN's own words what it throws: with_onednn() around it.
  ConvWeightGradient(const Conv2d& spec, const Problem& problem, const ConvLayout& layout);

  // Images as the kernel has them, gradients as its parameters are; scratch: scratch_bytes().
  void operator()(const BackwardWeightArguments& a);
  std::size_t scratch_bytes() const;

 private:
  struct Part {
    std::int64_t first_sample = 0;
    ConvertedCall call;
    std::exception_ptr failure = {};  // no exception leaves a thread of a team
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
  std::size_t input_bytes_ = 0, output_bytes_ = 0;  // of a sample
  std::vector<Part> parts_;
  std::vector<std::uint8_t> on_diagonal_;  // where groups are merged: the weights that there are
};

}  // namespace pipetrain::cpu
