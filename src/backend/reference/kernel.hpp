// What the reference kernels share: plain layout [samples, shape] of f32, and sums in f64.
// Written to be read: every other backend is tested against these loops.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "graph/layer_spec.hpp"
#include "graph/shape.hpp"

namespace pipetrain::reference {

// The problem that a kernel is made for.
struct Problem {
  std::string layer;
  std::vector<Shape> inputs;
  Shape output;
  std::int64_t samples = 1;
  Mode mode = Mode::Train;
  std::vector<Shape> parameters = {};

  std::int64_t input_elements() const { return samples * inputs[0].elements(); }
  std::int64_t output_elements() const { return samples * output.elements(); }
};

// Layers without parameters inherit this backward_weight(), which does nothing.
class ReferenceKernel : public Kernel {
 public:
  explicit ReferenceKernel(Problem problem) : problem_(std::move(problem)) {}
  const KernelTraits& traits() const final { return traits_; }
  void backward_weight(const BackwardWeightArguments&) override {}

 protected:
  Problem problem_;
  KernelTraits traits_;
};

inline const float* floats(const void* memory) { return static_cast<const float*>(memory); }
inline float* floats(void* memory) { return static_cast<float*>(memory); }

// Stores a sum, or adds it to what is there.
inline void put(float& to, double sum, bool accumulate) {
  to = static_cast<float>(accumulate ? to + sum : sum);
}

#include "backend/make_kernel.inl"

// One label for each row of `classes` outputs; `smoothing`: Graph::label_smoothing.
std::unique_ptr<LossKernel> make_cross_entropy(std::int64_t rows, std::int64_t classes,
                                               double smoothing);
std::unique_ptr<LossKernel> make_mse(std::int64_t samples, std::int64_t elements);

}  // namespace pipetrain::reference
