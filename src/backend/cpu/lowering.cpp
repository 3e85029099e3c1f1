#include "backend/cpu/lowering.hpp"

#include <algorithm>
#include <cstring>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/bytes_of.hpp"
#include "base/check.hpp"
#include "base/indexed.hpp"
#include "graph/graph.hpp"

namespace pipetrain::cpu {
namespace {

constexpr std::int64_t kPlainChannelsMax = 3;  // of an input that convolutions read plain

template <class Spec>
bool is(const Layer& layer) {
  return std::holds_alternative<Spec>(layer.spec);
}

const Layer& layer_of(const Graph& graph, LayerId id) { return graph.layers[id]; }

// ---- layouts

bool is_image(const Shape& shape) { return shape.dims.size() == 3; }

// A convolution reads plain images of few channels faster than 16 channels that are mostly zeros.
bool input_stays_plain(const Graph& graph) {
  const auto readers = graph.consumers(ValueId{0});
  return std::all_of(readers.begin(), readers.end(), [&](LayerId id) {
    const Layer& reader = layer_of(graph, id);
    const auto* conv = std::get_if<Conv2d>(&reader.spec);
    return is<Flatten>(reader) ||
           (conv && conv->groups == 1 && graph.input.dims[0] <= kPlainChannelsMax);
  });
}

// Does this layer share its weights with another one? Then they are stored plain.
bool shares_weights(const Graph& graph, LayerId id) {
  for (const std::vector<Tie>& uses : tied_groups(graph))
    for (const Tie& use : uses)
      if (use.layer == id) return true;
  return false;
}

// Is it read by linear layers only, perhaps after elementwise ones? They take features in any
// order.
bool only_linear_reads(const Graph& graph, ValueId value) {
  if (value.value == static_cast<int>(graph.layers.size())) return false;  // the loss
  const auto readers = graph.consumers(value);
  return std::all_of(readers.begin(), readers.end(), [&](LayerId id) {
    const Layer& reader = layer_of(graph, id);
    if (is<Linear>(reader)) return !shares_weights(graph, id);
    return (is<Relu>(reader) || is<Dropout>(reader) || is<Identity>(reader)) &&
           only_linear_reads(graph, Graph::output_of(id));
  });
}

ValueLayout output_layout(const Graph& graph, LayerId id, const ValueLayout& input) {
  const Layer& layer = layer_of(graph, id);
  if (is_image(layer.output)) return blocked_layout(layer.output);
  const bool follows = is<Relu>(layer) || is<Dropout>(layer) || is<Identity>(layer);
  if (follows) return input;
  if (is<Flatten>(layer) && !input.is_plain() && only_linear_reads(graph, Graph::output_of(id)))
    return input;
  return plain_layout(layer.output);
}

// In bf16, what a linear layer passes to the loss stays f32, as its sums are.
Element element_of_value(const Graph& graph, std::size_t value, Precision precision) {
  if (graph.shape({static_cast<int>(value)}).vocabulary > 0) return Element::Token;
  if (precision == Precision::F32) return Element::F32;
  const bool is_last = value == graph.layers.size();
  return is_last && is<Linear>(graph.layers.back()) ? Element::F32 : Element::Bf16;
}

Indexed<ValueLayout, ValueId> choose_layouts(const Graph& graph, Precision precision) {
  Indexed<ValueLayout, ValueId> layouts;
  layouts.push_back(is_image(graph.input) && !input_stays_plain(graph) ? blocked_layout(graph.input)
                                                                       : plain_layout(graph.input));
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const auto input = static_cast<std::size_t>(graph.layers[i].inputs[0].value);
    layouts.push_back(output_layout(graph, LayerId{static_cast<int>(i)}, layouts[input]));
  }
  for (std::size_t v = 0; v < layouts.size(); ++v)
    layouts[v].element = element_of_value(graph, v, precision);
  return layouts;
}

// ---- relus

// A linear layer of vectors: a relu next to it can leave work to it.
bool is_linear_of_vectors(const Graph& graph, LayerId id) {
  const Layer& layer = layer_of(graph, id);
  return is<Linear>(layer) && layer.output.dims.size() == 1 && !shares_weights(graph, id);
}

bool can_apply_relu(const Graph& graph, LayerId id) {
  const Layer& layer = layer_of(graph, id);
  return is<Conv2d>(layer) || is_linear_of_vectors(graph, id) || is<BatchNorm>(layer) ||
         is<Add>(layer);
}

void fuse_relu(const Graph& graph, Indexed<Problem, LayerId>& problems, std::size_t relu,
               bool masks_elsewhere) {
  Problem& problem = problems[relu];
  if (const std::optional<LayerId> before = applied_by(graph, *problem.layer)) {
    Problem& producer = problems[*before];
    producer.with_relu = problem.relu_ahead = true;
    if (masks_elsewhere && is<BatchNorm>(*producer.layer)) {
      problem.mask = Mask::Producer;
      return;
    }
  }
  if (!masks_elsewhere) return;
  const auto readers = graph.consumers(Graph::output_of(LayerId{static_cast<int>(relu)}));
  if (readers.size() != 1) return;
  if (is<MaxPool>(layer_of(graph, readers[0])) || is_linear_of_vectors(graph, readers[0])) {
    problem.mask = Mask::Reader;
    problems[readers[0]].masks_input = true;
  }
}

// ---- the lowering

Indexed<Problem, LayerId> make_problems(const Graph& graph,
                                        const Indexed<ValueLayout, ValueId>& layouts,
                                        bool recomputes) {
  Indexed<Problem, LayerId> problems(graph.layers.size());
  const Indexed<bool, ValueId> trained = trained_values(graph);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    problems[i].layer = &graph.layers[i];
    for (const ValueId input : graph.layers[i].inputs) problems[i].inputs.push_back(layouts[input]);
    problems[i].output = layouts[i + 1];
    problems[i].plain_weights = shares_weights(graph, LayerId{static_cast<int>(i)});
    problems[i].wants_input_gradient =
        is<Lstm>(graph.layers[i]) ||  // its weight gradient is made on the way
        trained[graph.layers[i].inputs[0]];
  }
  for (std::size_t i = 0; i < problems.size(); ++i)
    if (is<Relu>(graph.layers[i])) fuse_relu(graph, problems, i, !recomputes);
  return problems;
}

class CpuLowering final : public Lowering {
 public:
  CpuLowering(const Graph& graph, const LowerOptions& options, Products products,
              Sinusoids& sinusoids)
      : graph_(graph),
        layouts_(choose_layouts(graph_, options.precision)),
        problems_(make_problems(graph_, layouts_, options.recomputes)) {
    for (Problem& p : problems_) {
      p.samples = options.samples;
      p.multiplies_bf16 = multiplies_bf16(p, products);
      p.sinusoids = &sinusoids;
    }
    for (std::size_t l = 0; l < problems_.size(); ++l)
      problems_[l].keeps_packed = packed_bytes(LayerId{static_cast<int>(l)}, Pass::Backward) > 0;
  }
  CpuLowering(const CpuLowering&) = delete;  // problems_ point into graph_
  CpuLowering& operator=(const CpuLowering&) = delete;

  std::size_t value_bytes(ValueId value, int samples) const override {
    return layout(value).bytes(samples);
  }
  bool reads_plain_input() const override {
    return layouts_[0].is_plain() && layouts_[0].element != Element::Bf16;
  }
  void load_input(Stream&, const void* plain, int samples, void* stored) const override {
    if (layouts_[0].element == Element::Token) {
      std::memcpy(stored, plain, value_bytes(ValueId{0}, samples));
      return;
    }
    with_element(layouts_[0].element, [&]<class E>() {
      to_stored(layouts_[0], samples, floats(plain), elements<E>(stored));
    });
  }
  void store_value(Stream&, ValueId value, const void* stored, int samples,
                   float* plain) const override {
    with_element(layout(value).element,
                 [&]<class E>() { to_plain(layout(value), samples, elements<E>(stored), plain); });
  }
  void add_value(Stream&, ValueId value, int samples, void* a, const void* b) const override {
    const std::int64_t count = samples * layout(value).stored_elements();
    with_element(layout(value).element, [&]<class E>() {
      parallel_ranges(count, kElementWork * count, [&](std::int64_t begin, std::int64_t end) {
        E* const sum = elements<E>(a) + begin;
        element_loops<E>().add(sum, elements<E>(b) + begin, sum, end - begin, false);
      });
    });
  }

  std::size_t parameter_bytes(LayerId layer, int parameter) const override {
    return bytes_of<float>(layout_of(layer, parameter).elements);
  }
  void load_parameter(Stream&, LayerId layer, int parameter, const float* plain,
                      void* stored) const override {
    const ParameterLayout layout = layout_of(layer, parameter);
    std::memset(stored, 0, bytes_of<float>(layout.elements));
    for (std::int64_t i = 0; i < plain_elements(layer, parameter); ++i)
      floats(stored)[layout.position(i)] = plain[i];
  }
  void store_parameter(Stream&, LayerId layer, int parameter, const void* stored,
                       float* plain) const override {
    const ParameterLayout layout = layout_of(layer, parameter);
    for (std::int64_t i = 0; i < plain_elements(layer, parameter); ++i)
      plain[i] = floats(stored)[layout.position(i)];
  }

  std::size_t packed_bytes(LayerId layer, Pass pass) const override {
    if (pass == Pass::Backward && !problem(layer).wants_input_gradient) return 0;
    return std::visit(
        [&](const auto& spec) -> std::size_t {
          if constexpr (requires { cpu::packed_bytes(spec, problem(layer), pass); })
            return cpu::packed_bytes(spec, problem(layer), pass);
          return 0;
        },
        problem(layer).layer->spec);
  }
  void pack(Stream&, LayerId layer, Pass pass, std::span<const void* const> parameters,
            void* packed) const override {
    if (packed_bytes(layer, pass) == 0) return;
    std::visit(
        [&](const auto& spec) {
          if constexpr (requires { cpu::pack(spec, problem(layer), pass, parameters, packed); })
            cpu::pack(spec, problem(layer), pass, parameters, packed);
          else if constexpr (requires { cpu::packed_bytes(spec, problem(layer), pass); })
            cpu::pack(spec, problem(layer), pass, floats(parameters[0]), packed);
        },
        problem(layer).layer->spec);
  }

  std::unique_ptr<Kernel> make_kernel(LayerId layer, const KernelOptions& options) const override {
    Problem made = problem(layer);
    made.samples = options.samples;
    made.mode = options.mode;
    return std::visit([&](const auto& spec) { return cpu::make_kernel(spec, std::move(made)); },
                      problem(layer).layer->spec);
  }
  std::unique_ptr<LossKernel> make_loss(int samples) const override {
    if (graph_.loss == Loss::Mse) return make_mse(layouts_.back(), samples);
    return make_cross_entropy(layouts_.back(), samples, graph_.layers.back().output.dims.back(),
                              graph_.label_smoothing);
  }

 private:
  const ValueLayout& layout(ValueId value) const { return layouts_[value]; }
  const Problem& problem(LayerId layer) const { return problems_[layer]; }
  std::int64_t plain_elements(LayerId layer, int parameter) const {
    return problem(layer).layer->parameters[parameter].shape.elements();
  }
  ParameterLayout layout_of(LayerId layer, int parameter) const {
    return std::visit(
        [&](const auto& spec) -> ParameterLayout {
          if constexpr (requires { cpu::parameter_layout(spec, problem(layer), parameter); })
            return cpu::parameter_layout(spec, problem(layer), parameter);
          PIPETRAIN_CHECK(false, "layer {} has no parameters", problem(layer).layer->name);
          return {};
        },
        problem(layer).layer->spec);
  }

  Graph graph_;
  Indexed<ValueLayout, ValueId> layouts_;
  Indexed<Problem, LayerId> problems_;
};

}  // namespace

ParameterLayout channel_parameter(std::int64_t channels, std::int64_t multiple) {
  return {.elements = round_up(channels, multiple), .position = [](std::int64_t i) { return i; }};
}

std::optional<LayerId> applied_by(const Graph& graph, const Layer& relu) {
  const ValueId input = relu.inputs[0];
  if (input.value == 0 || graph.consumers(input).size() != 1) return {};
  const LayerId before{input.value - 1};
  return can_apply_relu(graph, before) ? std::optional(before) : std::nullopt;
}

std::unique_ptr<const Lowering> lower(const Graph& graph, const LowerOptions& options,
                                      Products products, Sinusoids& sinusoids) {
  return std::make_unique<CpuLowering>(graph, options, products, sinusoids);
}

}  // namespace pipetrain::cpu
