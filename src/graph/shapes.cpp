#include "graph/shapes.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "graph/additive_attention_rule.hpp"
#include "graph/attention_rule.hpp"
#include "graph/layer.hpp"
#include "graph/lstm_rule.hpp"
#include "graph/traits.hpp"

namespace pipetrain {
namespace {

using Result = std::variant<LayerFacts, Misfit>;

constexpr double kMostElements = 0x1p40;
constexpr double kMostFlops = 0x1p50;

double product(std::initializer_list<std::int64_t> factors) {
  double out = 1;
  for (const std::int64_t factor : factors) out *= static_cast<double>(factor);
  return out;
}

// Kaiming uniform with a = sqrt(5): its bound, and that of the bias, comes to 1 / sqrt(fan_in).
Initial by_fan_in(double fan_in) { return Uniform{1 / std::sqrt(fan_in)}; }

// The initial values of a layer's weight and bias: by its fan-in, or as the layer says.
Initial weight_initial(const std::optional<double>& std, double fan_in) {
  return std ? Initial{Normal{*std}} : by_fan_in(fan_in);
}
Initial bias_initial(const std::optional<double>& std, double fan_in) {
  return std ? Initial{Constant{0}} : by_fan_in(fan_in);
}

bool is_image(const Shape& shape) { return shape.dims.size() == 3; }
bool is_sequence(const Shape& shape) { return shape.dims.size() == 2; }

Misfit needs_sequence() {
  return {"it needs a [T, C] input: a sequence of vectors, as an embedding layer makes them"};
}

Misfit needs_image() { return {"it needs a [C, H, W] input; place it before the flatten layer"}; }

// How many windows of `kernel`, `stride` apart, fit into a padded length.
std::int64_t windows(std::int64_t length, std::int64_t kernel, std::int64_t stride,
                     std::int64_t padding) {
  return (length + 2 * padding - kernel) / stride + 1;
}

template <class Spec>
Result windowed(const Spec& spec, const Shape& in, std::int64_t channels) {
  if (!is_image(in)) return needs_image();
  LayerFacts facts;
  facts.output.dims = {channels};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t length = in.dims[axis + 1], padded = length + 2 * spec.padding[axis];
    if (spec.kernel[axis] > padded)
      return Misfit{
          fmt::format("its kernel of {} is larger than the padded {} of {}; use a smaller "
                      "kernel or more padding",
                      spec.kernel[axis], axis == 0 ? "height" : "width", padded)};
    facts.output.dims.push_back(
        windows(length, spec.kernel[axis], spec.stride[axis], spec.padding[axis]));
  }
  return facts;
}

struct Rule {
  std::span<const Shape> inputs;
  const Shape& in() const { return inputs[0]; }
  double elements() const { return static_cast<double>(in().elements()); }

  static LayerFacts makes(std::vector<std::int64_t> dims, double work) {
    LayerFacts facts;
    facts.output.dims = std::move(dims);
    facts.flops = whole_flops(work);
    return facts;
  }

  Result same(double flops_per_element) const {
    return LayerFacts{in(), {}, {}, whole_flops(flops_per_element * elements())};
  }

  Result operator()(const Linear& spec) const {
    if (is_image(in()))
      return Misfit{"it needs a [features] or [T, features] input; add a flatten layer before it"};
    const std::int64_t features = in().dims.back(), out = spec.out_features,
                       rows = in().elements() / features;
    LayerFacts facts{
        in(),
        {},
        {},
        whole_flops(product({2, rows, features, out}) + (spec.bias ? product({rows, out}) : 0))};
    facts.output.dims.back() = out;
    const auto fan_in = static_cast<double>(features);
    facts.parameters.push_back(
        {"weight", {{out, features}}, weight_initial(spec.init_std, fan_in)});
    if (spec.bias)
      facts.parameters.push_back({"bias", {{out}}, bias_initial(spec.init_std, fan_in)});
    return facts;
  }

  Result operator()(const Conv2d& spec) const {
    Result result = windowed(spec, in(), spec.out_channels);
    auto* facts = std::get_if<LayerFacts>(&result);
    if (!facts) return result;
    if (in().dims[0] % spec.groups != 0 || spec.out_channels % spec.groups != 0)
      return Misfit{
          fmt::format("its {} input and {} output channels are not both divisible by "
                      "groups = {}; use a divisor of both",
                      in().dims[0], spec.out_channels, spec.groups)};
    const std::int64_t channels = in().dims[0] / spec.groups;  // which one output channel reads
    const double fan_in = product({channels, spec.kernel[0], spec.kernel[1]});
    const std::vector<std::int64_t>& out = facts->output.dims;
    facts->flops =
        whole_flops(product({out[0], out[1], out[2]}) * (2 * fan_in + (spec.bias ? 1 : 0)));
    const Shape weight{{spec.out_channels, channels, spec.kernel[0], spec.kernel[1]}};
    facts->parameters.push_back({"weight", weight, weight_initial(spec.init_std, fan_in)});
    if (spec.bias)
      facts->parameters.push_back({"bias", {{out[0]}}, bias_initial(spec.init_std, fan_in)});
    return result;
  }

  // Counted: two reductions for the statistics (3), then subtract, scale and shift.
  Result operator()(const BatchNorm&) const {
    if (is_sequence(in()))
      return Misfit{"it normalises the channels of [C, H, W] or [features]; use a layer_norm"};
    const Shape channels{{in().dims[0]}};
    return LayerFacts{in(),
                      {{"weight", channels, Constant{1}}, {"bias", channels, Constant{0}}},
                      {{"running_mean", channels, 0}, {"running_var", channels, 1}},
                      whole_flops(6 * elements())};
  }

  template <class Pool>
  Result pool(const Pool& spec) const {
    for (std::size_t axis = 0; axis < 2; ++axis)
      if (2 * spec.padding[axis] > spec.kernel[axis])
        return Misfit{
            fmt::format("its padding of {} is more than half its kernel of {}; pad less, or whole "
                        "windows would be outside the input",
                        spec.padding[axis], spec.kernel[axis])};
    Result result = windowed(spec, in(), in().dims[0]);
    if (auto* facts = std::get_if<LayerFacts>(&result)) {
      const std::vector<std::int64_t>& out = facts->output.dims;
      facts->flops = whole_flops(product({out[0], out[1], out[2], spec.kernel[0], spec.kernel[1]}));
    }
    return result;
  }
  Result operator()(const MaxPool& spec) const { return pool(spec); }
  Result operator()(const AvgPool& spec) const { return pool(spec); }

  Result operator()(const GlobalAvgPool&) const {
    if (!is_image(in())) return needs_image();
    return makes({in().dims[0], 1, 1}, elements());
  }
  Result operator()(const Flatten&) const { return makes({in().elements()}, 0); }
  Result operator()(const Relu&) const { return same(1); }
  Result operator()(const Dropout&) const { return same(1); }
  Result operator()(const Identity&) const { return same(0); }

  Result operator()(const Add&) const {
    for (const Shape& shape : inputs)
      if (shape != in())
        return Misfit{"the shapes must be equal; change the sizes of the layers that make them"};
    return same(static_cast<double>(inputs.size() - 1));
  }

  // Counted as in batch_norm.
  Result operator()(const LayerNorm& spec) const {
    if (is_image(in())) return Misfit{"it normalises [features] or [T, C]; use a batch_norm"};
    const Shape features{{in().dims.back()}};
    LayerFacts facts{in(), {{"weight", features, Constant{1}}}, {}, whole_flops(6 * elements())};
    if (spec.bias) facts.parameters.push_back({"bias", features, Constant{0}});
    return facts;
  }
  Result operator()(const Gelu&) const { return same(10); }  // a tanh or an erf counts as several

  Result operator()(const Embedding& spec) const {
    const std::int64_t length = in().dims[0], vocabulary = in().vocabulary,
                       width = spec.embedding_dim;
    LayerFacts facts = makes({length, width}, spec.scale == 1 ? 0 : length * width);
    facts.parameters.push_back({"weight", {{vocabulary, width}}, Normal{spec.init_std}});
    return facts;
  }
  Result operator()(const LearnedPositions& spec) const {
    if (!is_sequence(in())) return needs_sequence();
    LayerFacts facts = makes(in().dims, elements());
    facts.parameters.push_back({"weight", in(), Normal{spec.init_std}});
    return facts;
  }
  Result operator()(const SinusoidalPositions&) const {
    if (!is_sequence(in())) return needs_sequence();
    return same(1);
  }

  Result operator()(const Attention& spec) const { return attention_rule(spec, inputs); }
  Result operator()(const Lstm& spec) const { return lstm_rule(spec, inputs); }
  Result operator()(const AdditiveAttention& spec) const {
    return additive_attention_rule(spec, inputs);
  }

  Result operator()(const Narrow& spec) const {
    const std::int64_t length = in().dims[0];
    if (spec.start > length - spec.length)
      return Misfit{fmt::format("there are no tokens {} to {}; write a smaller start or length",
                                spec.start, spec.start + spec.length - 1)};
    return LayerFacts{{{spec.length}, in().vocabulary}, {}, {}, 0};
  }

  Result operator()(const Concat&) const {
    const std::size_t axis = is_image(in()) ? 0 : in().dims.size() - 1;
    LayerFacts facts{in(), {}, {}, 0};
    facts.output.dims[axis] = 0;
    for (Shape shape : inputs) {
      const bool same_rank = shape.dims.size() == in().dims.size();
      if (same_rank) facts.output.dims[axis] += std::exchange(shape.dims[axis], in().dims[axis]);
      if (shape != in())
        return Misfit{is_image(in()) ? "all but the channels must be equal"
                                     : "all but the last dimension must be equal"};
    }
    return facts;
  }
};

// What only the rules of layers that read both numbers and tokens check themselves: how many inputs
// there are, and which of them are tokens.
std::optional<Misfit> wrong_inputs(const LayerSpec& spec, std::span<const Shape> inputs) {
  const LayerTraits traits = traits_of(spec);
  if (traits.inputs == Inputs::ByRule) return std::nullopt;
  const bool joins = traits.inputs == Inputs::Several;
  if (joins && inputs.size() < 2)
    return Misfit{"it needs two inputs or more; write inputs = [\"a\", \"b\"]"};
  if (!joins && inputs.size() != 1)
    return Misfit{fmt::format("it takes one input, not {}; join them with an add layer before it",
                              inputs.size())};
  const bool tokens = std::ranges::any_of(inputs, [](const Shape& s) { return s.vocabulary > 0; });
  if (traits.reads == Elements::Tokens && !tokens)
    return Misfit{"it needs tokens; write input = { tokens = T, vocabulary = V } for the model"};
  if (tokens && traits.reads == Elements::Numbers)
    return Misfit{"it needs numbers, but these are tokens; put an embedding layer before it"};
  return std::nullopt;
}

bool is_too_large(const LayerFacts& facts) {
  return !reasonable(facts.output) || static_cast<double>(facts.flops) > kMostFlops ||
         std::any_of(facts.parameters.begin(), facts.parameters.end(),
                     [](const Parameter& parameter) { return !reasonable(parameter.shape); });
}

}  // namespace

std::int64_t whole_flops(double count) {
  return static_cast<std::int64_t>(std::min(count, 2 * kMostFlops));
}

bool reasonable(const Shape& shape) {
  double elements = 1;
  for (const std::int64_t dim : shape.dims) elements *= static_cast<double>(dim);
  const bool positive =
      std::all_of(shape.dims.begin(), shape.dims.end(), [](std::int64_t dim) { return dim > 0; });
  return positive && elements < kMostElements;
}

Result shape_rule(const LayerSpec& spec, std::span<const Shape> inputs) {
  if (auto misfit = wrong_inputs(spec, inputs)) return *misfit;
  Result result = std::visit(Rule{inputs}, spec);
  if (const auto* facts = std::get_if<LayerFacts>(&result); facts && is_too_large(*facts))
    return Misfit{"its output, weights or work are too large for any machine; use smaller sizes"};
  return result;
}

}  // namespace pipetrain
