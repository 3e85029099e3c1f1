#include "backend/cpu/conv/conv_weight_gradient.hpp"

#include <algorithm>

#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/bytes_of.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

constexpr std::int64_t kMostParts = 8;
// A part must be worth adding up its weights, and waking a thread for it.
constexpr std::int64_t kPixelsWorthAPart = 1024, kWorkWorthAPart = 512 * 1024;

// A power of two: that number of threads, or any smaller power of two, can share the parts evenly.
std::int64_t part_count(const Problem& problem, std::int64_t work) {
  const std::int64_t most =
      std::min({kMostParts, problem.samples, work / kWorkWorthAPart,
                problem.samples * problem.output.pixels() / kPixelsWorthAPart});
  std::int64_t parts = 1;
  while (2 * parts <= most) parts *= 2;
  return parts;
}

std::size_t element_bytes(const Problem& problem) {
  return problem.multiplies_bf16 ? sizeof(Bf16) : sizeof(float);
}

}  // namespace

ConvWeightGradient::ConvWeightGradient(const Conv2d& spec, const Problem& problem,
                                       const ConvLayout& layout)
    : name_(problem.layer->name),
      has_bias_(spec.bias),
      weight_elements_(layout.weight_elements),
      outputs_(layout.outputs),
      work_(problem.output_elements() * layout.channels / layout.groups * spec.kernel[0] *
            spec.kernel[1]),
      input_bytes_(static_cast<std::size_t>(problem.inputs[0].stored_elements()) *
                   element_bytes(problem)),
      output_bytes_(static_cast<std::size_t>(problem.output.stored_elements()) *
                    element_bytes(problem)) {
  const OneThread one;
  const std::int64_t count = part_count(problem, work_);
  for (std::int64_t p = 0; p < count; ++p) {
    Problem part = problem;
    const std::int64_t first = problem.samples * p / count;
    part.samples = problem.samples * (p + 1) / count - first;
    const ConvLayout its = conv_layout(spec, part);
    parts_.push_back({first, ConvCallMaker(spec, part, its).backward_weight()});
  }
  if (layout.merged) mark_diagonal(spec, problem);
}

std::size_t ConvWeightGradient::scratch_bytes() const {
  std::size_t bytes = 0;
  for (const Part& part : parts_)
    bytes += bytes_of<float>(round_up(weight_elements_ + outputs_, kLanes)) +
             round_up(part.call.scratch_bytes(), 64);
  return bytes;
}

ConvWeightGradient::Sums ConvWeightGradient::sums(std::size_t part,
                                                  const BackwardWeightArguments& a) const {
  if (is_alone(a)) return {floats(a.gradients[0]), has_bias_ ? floats(a.gradients[1]) : nullptr};
  float* const own = floats(a.scratch) + static_cast<std::int64_t>(part) *
                                             round_up(weight_elements_ + outputs_, kLanes);
  return {own, has_bias_ ? own + weight_elements_ : nullptr};
}

void ConvWeightGradient::operator()(const BackwardWeightArguments& a) {
  parallel_calls(std::ssize(parts_), work_,
                 [&](std::int64_t part) { run(static_cast<std::size_t>(part), a); });
  if (!is_alone(a)) add_up(a);
}

void ConvWeightGradient::run(std::size_t p, const BackwardWeightArguments& a) {
  Part& part = parts_[p];
  const Sums to = sums(p, a);
  const auto sample = static_cast<std::size_t>(part.first_sample);
  const std::uint8_t* const input = bytes(a.inputs[0]) + sample * input_bytes_;
  const std::uint8_t* const gradient = bytes(a.output_gradient) + sample * output_bytes_;
  std::uint8_t* scratch =
      bytes(a.scratch) +
      parts_.size() * static_cast<std::size_t>(round_up(weight_elements_ + outputs_, kLanes)) *
          sizeof(float);
  for (std::size_t before = 0; before < p; ++before)
    scratch += round_up(parts_[before].call.scratch_bytes(), 64);
  if (has_bias_)
    part.call(name_, {input, to.weights, gradient, to.bias, scratch});
  else
    part.call(name_, {input, to.weights, gradient, scratch});
  if (!on_diagonal_.empty())
    vector_loops().f32.drop(to.weights, on_diagonal_.data(), 1, to.weights, weight_elements_);
}

void ConvWeightGradient::add_up(const BackwardWeightArguments& a) const {
  const auto add = [&](float* to, std::int64_t elements, auto of) {
    parallel_ranges(elements, kElementWork * elements * std::ssize(parts_),
                    [&](std::int64_t begin, std::int64_t end) {
                      if (!a.accumulate) std::copy_n(of(0) + begin, end - begin, to + begin);
                      for (std::size_t p = a.accumulate ? 0 : 1; p < parts_.size(); ++p)
                        vector_loops().f32.add(to + begin, of(p) + begin, to + begin, end - begin,
                                               false);
                    });
  };
  add(floats(a.gradients[0]), weight_elements_, [&](std::size_t p) { return sums(p, a).weights; });
  if (has_bias_)
    add(floats(a.gradients[1]), outputs_, [&](std::size_t p) { return sums(p, a).bias; });
}

void ConvWeightGradient::mark_diagonal(const Conv2d& spec, const Problem& problem) {
  on_diagonal_.assign(weight_elements_, 0);
  const ParameterLayout weights = parameter_layout(spec, problem, 0);
  const std::int64_t elements = problem.layer->parameters[0].shape.elements();
  for (std::int64_t i = 0; i < elements; ++i) on_diagonal_[weights.position(i)] = 1;
}

}  // namespace pipetrain::cpu
