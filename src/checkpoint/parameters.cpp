#include "checkpoint/parameters.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "checkpoint/atomic_file.hpp"
#include "graph/graph.hpp"
#include "graph/initial.hpp"
#include "graph/traits.hpp"

namespace pipetrain {
namespace {

template <class T>
std::vector<T> elements(const StoredTensor& tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

bool is_count(const NamedTensor& tensor) {
  return std::holds_alternative<std::vector<std::int64_t>>(tensor.values);
}

// Do vectors of one size differ? Compares bit by bit: values may be NaN.
bool differ(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) != 0;
}

// What is wrong with a stored tensor; empty if its values were taken.
std::string take(const StoredTensor& stored, NamedTensor& tensor) {
  if (stored.shape != tensor.shape.dims)
    return fmt::format("'{}' is {} there, {} in the model", stored.name, Shape{stored.shape}.text(),
                       tensor.shape.text());
  const std::string_view dtype = is_count(tensor) ? "I64" : "F32";
  if (stored.dtype != dtype)
    return fmt::format("'{}' is {} there; convert it to {}", stored.name, stored.dtype, dtype);
  if (is_count(tensor))
    tensor.values = elements<std::int64_t>(stored);
  else
    tensor.values = elements<float>(stored);
  return "";
}

template <class T, class Tensors>
auto& values_of(Tensors& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  PIPETRAIN_CHECK(found != tensors.end(), "no tensor '{}'", name);
  auto* values = std::get_if<std::vector<T>>(&found->second.values);
  PIPETRAIN_CHECK(values, "'{}' has another type", name);
  return *values;
}

}  // namespace

std::string batches_tracked_name(const Layer& batch_norm) {
  return batch_norm.name + ".num_batches_tracked";
}

NamedTensors expected_parameters(const Graph& graph) {
  NamedTensors tensors;
  for (const Layer& layer : graph.layers) {
    for (const Parameter& parameter : layer.parameters)
      tensors[parameter.name] = {parameter.shape, std::vector<float>{}};
    for (const Buffer& buffer : layer.buffers)
      tensors[buffer.name] = {buffer.shape, std::vector<float>{}};
    if (traits_of(layer.spec).counts_minibatches)
      tensors[batches_tracked_name(layer)] = {Shape{}, std::vector<std::int64_t>{0}};
  }
  return tensors;
}

NamedTensors initial_parameters(const Graph& graph, std::uint64_t seed) {
  NamedTensors tensors = expected_parameters(graph);
  for (const Layer& layer : graph.layers) {
    for (const Parameter& parameter : layer.parameters)
      tensors[parameter.name].values = initial_values(graph.owner(parameter), seed);
    for (const Buffer& buffer : layer.buffers)
      tensors[buffer.name].values = std::vector<float>(
          static_cast<std::size_t>(buffer.shape.elements()), static_cast<float>(buffer.initial));
  }
  return tensors;
}

NamedTensors read_parameters(const std::filesystem::path& file, const Graph& graph) {
  return match_tensors(read_safetensors(file), expected_parameters(graph), file.string(), graph);
}

namespace {

// The names of each parameter that several layers use, the owner's first.
std::vector<std::vector<std::string>> tied_names(const Graph& graph) {
  std::vector<std::vector<std::string>> names;
  for (const std::vector<Tie>& group : tied_groups(graph)) {
    names.emplace_back();
    for (const Tie& use : group) names.back().push_back(graph.parameter(use).name);
  }
  return names;
}

// A file may have a parameter under any of its names; if under several, then with the same values.
void fill_tied(const Graph& graph, NamedTensors& tensors,
               std::map<std::string, const NamedTensor*>& missing,
               std::vector<std::string>& problems) {
  for (const std::vector<std::string>& names : tied_names(graph)) {
    const auto there = std::ranges::find_if(names, [&](const std::string& name) {
      return tensors.contains(name) && !missing.contains(name);
    });
    if (there == names.end()) continue;
    const std::vector<float>& values = floats(std::as_const(tensors), *there);
    for (const std::string& name : names) {
      if (!tensors.contains(name)) continue;
      if (missing.erase(name) > 0) {
        tensors[name].values = values;
      } else if (differ(floats(std::as_const(tensors), name), values)) {
        problems.push_back(fmt::format(
            "'{}' and '{}' differ there; in the model they are one parameter", *there, name));
      }
    }
  }
}

}  // namespace

NamedTensors match_tensors(const std::vector<StoredTensor>& stored, NamedTensors expected,
                           const std::string& file, const Graph& graph) {
  std::map<std::string, const NamedTensor*> missing;
  for (const auto& [name, tensor] : expected)
    if (!is_count(tensor)) missing[name] = &tensor;
  std::vector<std::string> problems;
  for (const StoredTensor& one : stored) {
    const auto found = expected.find(one.name);
    const std::string problem = found == expected.end()
                                    ? fmt::format("'{}' is not in the model", one.name)
                                    : take(one, found->second);
    if (!problem.empty()) problems.push_back(printable(problem));
    missing.erase(one.name);
  }
  fill_tied(graph, expected, missing, problems);
  for (const auto& [name, tensor] : missing)
    problems.push_back(fmt::format("'{}' {} is missing", name, tensor->shape.text()));
  if (!problems.empty())
    throw DataError(
        fmt::format("{}: these are not the weights of model '{}':\n  {}\nName the file of this "
                    "model, or the model of this file",
                    file, printable(graph.name), fmt::join(problems, "\n  ")));
  return expected;
}

std::vector<TensorView> views_of(const NamedTensors& tensors) {
  std::vector<TensorView> views;
  for (const auto& [name, tensor] : tensors)
    views.push_back({name, is_count(tensor) ? "I64" : "F32", tensor.shape.dims,
                     std::visit([](const auto& values) { return std::as_bytes(std::span(values)); },
                                tensor.values)});
  return views;
}

void write_parameters(const std::filesystem::path& file, const NamedTensors& tensors) {
  AtomicFile out(file);
  write_safetensors(out.out(), views_of(tensors));
  out.commit();
}

std::vector<float>& floats(NamedTensors& tensors, const std::string& name) {
  return values_of<float>(tensors, name);
}
const std::vector<float>& floats(const NamedTensors& tensors, const std::string& name) {
  return values_of<float>(tensors, name);
}
std::int64_t& count(NamedTensors& tensors, const std::string& name) {
  return values_of<std::int64_t>(tensors, name).at(0);
}
std::int64_t count(const NamedTensors& tensors, const std::string& name) {
  return values_of<std::int64_t>(tensors, name).at(0);
}

}  // namespace pipetrain
