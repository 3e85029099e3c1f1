#include "run/fine_tuning.hpp"

#include <fnmatch.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "checkpoint/load.hpp"
#include "graph/graph.hpp"

namespace pipetrain {
namespace {

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

bool matches(const NamePatterns& any, const std::string& name) {
  return std::ranges::any_of(any.patterns,
                             [&](const std::string& pattern) { return matches(pattern, name); });
}

// "; did you mean 'conv1.*'?" for the name of a layer or of a block; otherwise the nearest name.
std::string suggestion(const std::string& pattern, const std::vector<std::string>& names) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  const auto begins_names = [&](std::string_view rest) {
    return std::ranges::any_of(
        names, [&](const std::string& name) { return matches(pattern + std::string(rest), name); });
  };
  if (begins_names(".*")) return fmt::format("; did you mean '{}.*'?", printable(pattern));
  if (const std::string near = suggest(pattern, known); !near.empty()) return printable(near);
  return begins_names("*") ? fmt::format("; did you mean '{}*'?", printable(pattern)) : "";
}

// A pattern that matches nothing must be misspelt.
void require_used(std::string_view key, const NamePatterns& patterns,
                  const std::vector<std::string>& names) {
  for (const std::string& pattern : patterns.patterns) {
    if (std::ranges::any_of(names, [&](const std::string& name) { return matches(pattern, name); }))
      continue;
    if (names.empty())
      throw UsageError(fmt::format("{}: the model has no parameters; leave it out", key));
    const std::string near = suggestion(pattern, names);
    throw UsageError(fmt::format(
        "{}: no parameter of the model is called '{}'{}", key, printable(pattern),
        near.empty()
            ? fmt::format("; the first is '{}', the last '{}'", names.front(), names.back())
            : near));
  }
}

std::vector<std::string> parameter_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Layer& layer : graph.layers)
    for (const Parameter& parameter : layer.parameters) names.push_back(parameter.name);
  return names;
}

// A parameter of several layers goes by the name of its owner: a pattern that matches only other
// names of it would have no effect.
void require_owners(std::string_view key, const NamePatterns& patterns, const Graph& graph) {
  for (const std::string& pattern : patterns.patterns) {
    const Parameter* tied = nullptr;
    bool owns = false;
    for (const Layer& layer : graph.layers)
      for (const Parameter& parameter : layer.parameters) {
        if (!matches(pattern, parameter.name)) continue;
        if (!parameter.tied)
          owns = true;
        else if (!tied)
          tied = &parameter;
      }
    if (tied && !owns)
      throw UsageError(fmt::format("{}: '{}' is tied to '{}'; write that", key, tied->name,
                                   graph.owner(*tied).name));
  }
}

}  // namespace

void choose_trained(const Config& config, Graph& graph) {
  const NamePatterns& trainable = config.model.trainable;
  const NamePatterns& rates = config.optimizer.lr_names;
  if (trainable.patterns.empty() && rates.patterns.empty()) return;
  const std::vector<std::string> names = parameter_names(graph);
  require_used("model.trainable", trainable, names);
  require_used("optimizer.lr_names", rates, names);
  require_owners("model.trainable", trainable, graph);
  require_owners("optimizer.lr_names", rates, graph);
  for (Layer& layer : graph.layers)
    for (Parameter& parameter : layer.parameters) {
      const std::string& name = graph.owner(parameter).name;  // tied ones count as one parameter
      parameter.trained = trainable.patterns.empty() || matches(trainable, name);
      for (std::size_t i = rates.patterns.size(); i-- > 0;)  // so that the first match wins
        if (matches(rates.patterns[i], name)) parameter.lr_factor = config.optimizer.lr_factors[i];
    }
}

std::string trained_text(const Graph& graph) {
  constexpr std::size_t most = 6;
  std::vector<std::string> names;
  std::int64_t count = 0;
  bool all = true;
  for (const Layer& layer : graph.layers)
    for (const Parameter& parameter : layer.parameters) {
      all = all && parameter.trained;
      if (!parameter.trained || parameter.tied) continue;
      names.push_back(parameter.name);
      count += parameter.shape.elements();
    }
  if (all) return "";
  std::string more;
  if (names.size() > most) more = fmt::format(" and {} more", names.size() - most);
  names.resize(std::min(names.size(), most));
  return fmt::format("trained  {}{}: {} of {} parameters; the others keep their values",
                     fmt::join(names, ", "), more, count, graph.parameter_count());
}

NamedTensors fine_tuned_parameters(const Config& config, const Graph& graph,
                                   std::vector<std::string>& ignored) {
  const NamePatterns& ignore = config.model.init_ignore;
  if (ignore.patterns.empty()) return read_weights(config.model.init, graph);
  auto [stored, from] = read_stored_weights(config.model.init);
  NamedTensors expected = expected_parameters(graph);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : expected) names.push_back(name);
  for (const StoredTensor& tensor : stored) names.push_back(tensor.name);
  require_used("model.init_ignore", ignore, names);
  std::erase_if(stored, [&](const StoredTensor& tensor) { return matches(ignore, tensor.name); });
  std::erase_if(expected, [&](const auto& entry) { return matches(ignore, entry.first); });
  NamedTensors values = match_tensors(stored, std::move(expected), from.string(), graph);
  for (auto& [name, tensor] : initial_parameters(graph, config.training.seed))
    if (values.try_emplace(name, std::move(tensor)).second) ignored.push_back(name);
  return values;
}

}  // namespace pipetrain
