#include "checkpoint/parameters.hpp"

#include <cstring>
#include <span>
#include <utility>

#include "base/check.hpp"
#include "base/error.hpp"
#include "checkpoint/safetensors.hpp"
#include "graph/initial.hpp"

namespace pipetrain {
namespace {

template <class T>
std::vector<T> elements(const StoredTensor& tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

template <class T>
std::vector<std::byte> bytes(const std::vector<T>& values) {
  const auto raw = std::as_bytes(std::span(values));
  return {raw.begin(), raw.end()};
}

bool is_count(const NamedTensor& tensor) {
  return std::holds_alternative<std::vector<std::int64_t>>(tensor.values);
}

// What a graph's file must hold: names, shapes and types, without values.
NamedTensors expected_tensors(const Graph& graph) {
  NamedTensors tensors;
  for (const Layer& layer : graph.layers) {
    for (const Parameter& parameter : layer.parameters)
      tensors[parameter.name] = {parameter.shape, std::vector<float>{}};
    for (const Buffer& buffer : layer.buffers)
      tensors[buffer.name] = {buffer.shape, std::vector<float>{}};
    if (std::holds_alternative<BatchNorm>(layer.spec))
      tensors[batches_tracked_name(layer)] = {Shape{}, std::vector<std::int64_t>{0}};
  }
  return tensors;
}

// What is wrong with a stored tensor; nothing where its values were taken.
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

NamedTensors initial_parameters(const Graph& graph, std::uint64_t seed) {
  NamedTensors tensors = expected_tensors(graph);
  for (const Layer& layer : graph.layers) {
    for (const Parameter& parameter : layer.parameters)
      tensors[parameter.name].values = initial_values(parameter, seed);
    for (const Buffer& buffer : layer.buffers)
      tensors[buffer.name].values = std::vector<float>(
          static_cast<std::size_t>(buffer.shape.elements()), static_cast<float>(buffer.initial));
  }
  return tensors;
}

NamedTensors read_parameters(const std::filesystem::path& file, const Graph& graph) {
  NamedTensors tensors = expected_tensors(graph);
  std::map<std::string, const NamedTensor*> missing;
  for (const auto& [name, tensor] : tensors)
    if (!is_count(tensor)) missing[name] = &tensor;
  std::vector<std::string> problems;
  for (const StoredTensor& stored : read_safetensors(file)) {
    const auto found = tensors.find(stored.name);
    const std::string problem = found == tensors.end()
                                    ? fmt::format("'{}' is not in the model", stored.name)
                                    : take(stored, found->second);
    if (!problem.empty()) problems.push_back(problem);
    missing.erase(stored.name);
  }
  for (const auto& [name, tensor] : missing)
    problems.push_back(fmt::format("'{}' {} is missing", name, tensor->shape.text()));
  if (!problems.empty())
    throw DataError(
        fmt::format("{}: these are not the weights of model '{}':\n  {}\nName the file "
                    "or the model that belongs to the other",
                    file.string(), graph.name, fmt::join(problems, "\n  ")));
  return tensors;
}

void write_parameters(const std::filesystem::path& file, const NamedTensors& tensors) {
  std::vector<StoredTensor> stored;
  for (const auto& [name, tensor] : tensors)
    stored.push_back({name, is_count(tensor) ? "I64" : "F32", tensor.shape.dims,
                      std::visit([](const auto& values) { return bytes(values); }, tensor.values)});
  write_safetensors(file, std::move(stored));
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
