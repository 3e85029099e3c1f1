// Values are widened into scratch before a call and rounded after it. Weights and their gradients
// need neither. If the backward of the preceding relu is done here, it masks the rounded gradient.
#include "backend/cpu/widened.hpp"

#include <algorithm>

#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/bytes_of.hpp"
#include "base/cache_line.hpp"

namespace pipetrain::cpu {
namespace {

class WidenedKernel final : public CpuKernel {
 public:
  WidenedKernel(Problem problem, std::unique_ptr<Kernel> f32)
      : CpuKernel(std::move(problem)),
        f32_(std::move(f32)),
        wide_input_(wide_bytes(problem_.inputs[0])),
        wide_output_(wide_bytes(problem_.output)),
        inputs_(problem_.inputs.size()),
        gradients_(problem_.inputs.size()) {
    traits_ = f32_->traits();
    traits_.backward_input_reads_inputs = problem_.masks_input;
    traits_.scratch_bytes += wide_input_ + wide_output_;
  }

  void forward(const ForwardArguments& a) override {
    const Scratch scratch = part(a.scratch);
    ForwardArguments inner = a;
    inner.inputs = widened_inputs(a.inputs, scratch.input);
    inner.output = is_wide(problem_.output) ? a.output : scratch.output;
    inner.scratch = scratch.rest;
    f32_->forward(inner);
    if (!is_wide(problem_.output)) narrow(problem_.output, floats(inner.output), a.output);
  }

  void backward_input(const BackwardInputArguments& a) override {
    const bool wanted = a.input_gradients[0];
    if (!wanted && !traits_.backward_weight_needs_backward_input) return;
    const Scratch scratch = part(a.scratch);
    gradients_.assign(a.input_gradients.begin(), a.input_gradients.end());
    if (wanted && !is_wide(problem_.inputs[0])) gradients_[0] = scratch.input;
    BackwardInputArguments inner = a;
    inner.output_gradient = widened(problem_.output, a.output_gradient, scratch.output);
    inner.input_gradients = gradients_;
    inner.scratch = scratch.rest;
    f32_->backward_input(inner);
    if (!wanted) return;
    if (!is_wide(problem_.inputs[0]))
      narrow(problem_.inputs[0], floats(gradients_[0]), a.input_gradients[0]);
    if (problem_.masks_input) mask(a.inputs[0], a.input_gradients[0]);
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    const Scratch scratch = part(a.scratch);
    BackwardWeightArguments inner = a;
    inner.inputs = widened_inputs(a.inputs, scratch.input);
    inner.output_gradient = widened(problem_.output, a.output_gradient, scratch.output);
    inner.scratch = scratch.rest;
    f32_->backward_weight(inner);
  }

  void update(Stream& stream, const FusedUpdate& update, void* scratch) override {
    f32_->update(stream, update, part(scratch).rest);
  }

 private:
  struct Scratch {
    float *input, *output;
    void* rest;
  };
  Scratch part(void* scratch) const {
    auto* const memory = static_cast<std::byte*>(scratch);
    return {floats(memory), floats(memory + wide_input_), memory + wide_input_ + wide_output_};
  }

  static bool is_wide(const ValueLayout& layout) { return layout.element == Element::F32; }
  std::int64_t count(const ValueLayout& layout) const {
    return problem_.samples * layout.stored_elements();
  }
  std::size_t wide_bytes(const ValueLayout& layout) const {
    return is_wide(layout) ? 0 : whole_lines(bytes_of<float>(count(layout)));
  }

  // Widens the first one; inputs after it are tokens and stay as they are.
  std::span<const void* const> widened_inputs(std::span<const void* const> inputs, float* wide) {
    inputs_.assign(inputs.begin(), inputs.end());
    inputs_[0] = widened(problem_.inputs[0], inputs[0], wide);
    return inputs_;
  }

  template <class Body>
  void ranges(const ValueLayout& layout, Body body) const {
    parallel_ranges(count(layout), kElementWork * count(layout),
                    [&](std::int64_t begin, std::int64_t end) { body(begin, end - begin); });
  }
  const void* widened(const ValueLayout& layout, const void* value, float* wide) const {
    if (is_wide(layout)) return value;
    ranges(layout, [&](std::int64_t begin, std::int64_t count) {
      loops_.widen(elements<Bf16>(value) + begin, wide + begin, count);
    });
    return wide;
  }
  void narrow(const ValueLayout& layout, const float* wide, void* value) const {
    ranges(layout, [&](std::int64_t begin, std::int64_t count) {
      loops_.narrow(wide + begin, elements<Bf16>(value) + begin, count);
    });
  }
  void mask(const void* input, void* gradient) const {
    ranges(problem_.inputs[0], [&](std::int64_t begin, std::int64_t count) {
      Bf16* const dx = elements<Bf16>(gradient) + begin;
      loops_.relu_backward(elements<Bf16>(input) + begin, dx, dx, count);
    });
  }

  const ElementLoops<Bf16>& loops_ = element_loops<Bf16>();
  std::unique_ptr<Kernel> f32_;
  std::size_t wide_input_, wide_output_;
  std::vector<const void*> inputs_;  // of the current call
  std::vector<void*> gradients_;
};

}  // namespace

bool is_bf16(const Problem& problem) {
  return problem.inputs[0].element == Element::Bf16 || problem.output.element == Element::Bf16;
}

Problem in_f32(Problem problem) {
  for (ValueLayout& input : problem.inputs)
    if (input.element == Element::Bf16) input.element = Element::F32;
  problem.output.element = Element::F32;
  problem.masks_input = false;
  return problem;
}

std::unique_ptr<Kernel> make_widened(Problem problem, std::unique_ptr<Kernel> f32) {
  return std::make_unique<WidenedKernel>(std::move(problem), std::move(f32));
}

}  // namespace pipetrain::cpu
