#include "graph/graph.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "graph/kinds.hpp"

namespace pipetrain {

std::int64_t Shape::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

std::string Shape::text() const {
  const std::string sizes = fmt::format("[{}]", fmt::join(dims, ", "));
  return vocabulary > 0 ? fmt::format("{} tokens of {}", sizes, vocabulary) : sizes;
}

const Shape& Graph::shape(ValueId value) const {
  PIPETRAIN_CHECK(value.value >= 0 && value.value <= static_cast<int>(layers.size()),
                  "value {} of a graph with {} layers", value.value, layers.size());
  return value.value == 0 ? input : layers[value.value - 1].output;
}

std::vector<LayerId> Graph::consumers(ValueId value) const {
  std::vector<LayerId> readers;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (std::count(layers[i].inputs.begin(), layers[i].inputs.end(), value) > 0)
      readers.push_back(LayerId{static_cast<int>(i)});
  return readers;
}

std::int64_t Graph::parameter_count() const {
  std::int64_t count = 0;
  for (const Layer& layer : layers)
    for (const Parameter& parameter : layer.parameters)
      if (!parameter.tied) count += parameter.shape.elements();
  return count;
}

const Parameter& Graph::parameter(const Tie& at) const {
  return layers[at.layer].parameters[at.parameter];
}

const Parameter& Graph::owner(const Parameter& parameter) const {
  return parameter.tied ? this->parameter(*parameter.tied) : parameter;
}

bool Layer::trains() const { return std::ranges::any_of(parameters, &Parameter::trained); }

std::vector<std::vector<Tie>> tied_groups(const Graph& graph) {
  std::vector<std::vector<Tie>> groups;
  for (int l = 0; l < std::ssize(graph.layers); ++l) {
    const Indexed<Parameter>& parameters = graph.layers[l].parameters;
    for (int p = 0; p < std::ssize(parameters); ++p) {
      const auto& tie = parameters[p].tied;
      if (!tie) continue;
      auto group = std::ranges::find_if(groups, [&](const auto& g) { return g[0] == *tie; });
      if (group == groups.end()) group = groups.insert(groups.end(), {*tie});
      group->push_back({{l}, p});
    }
  }
  return groups;
}

std::vector<std::vector<Tie>> trained_groups(const Graph& graph) {
  std::vector<std::vector<Tie>> groups = tied_groups(graph);
  std::erase_if(groups, [&](const auto& uses) { return !graph.parameter(uses[0]).trained; });
  return groups;
}

Indexed<bool, ValueId> trained_values(const Graph& graph) {
  Indexed<bool, ValueId> trained = {false};
  for (const Layer& layer : graph.layers)
    trained.push_back(layer.trains() || std::ranges::any_of(layer.inputs, [&](ValueId input) {
                        return trained[input];
                      }));
  return trained;
}

std::string_view kind_name(const LayerSpec& spec) { return layer_kinds()[spec.index()].name; }

}  // namespace pipetrain
