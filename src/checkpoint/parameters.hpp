// A model's weights as stored in a file: PyTorch's names and layouts, its state_dict.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "checkpoint/safetensors.hpp"
#include "graph/shape.hpp"

namespace pipetrain {

struct Graph;
struct Layer;

struct NamedTensor {
  Shape shape;                                                         // no dimensions for a scalar
  std::variant<std::vector<float>, std::vector<std::int64_t>> values;  // row-major
};
using NamedTensors = std::map<std::string, NamedTensor>;

// Every parameter and buffer of the graph, and `num_batches_tracked` (an I64 scalar) of each
// batch_norm: names, shapes and types; the values are empty.
NamedTensors expected_parameters(const Graph& graph);

// The same with the values from which training starts.
NamedTensors initial_parameters(const Graph& graph, std::uint64_t seed);

// The same names and shapes, with values from a file. DataError lists everything that is missing,
// extra or of another shape or type. Only num_batches_tracked may be missing (it is then 0), and
// all names but one of a parameter that several layers use; those that are there must have the same
// values.
NamedTensors read_parameters(const std::filesystem::path& file, const Graph& graph);

// Fills the expected tensors with the values stored in a file; messages begin with `file`. Errors
// as in read_parameters().
NamedTensors match_tensors(const std::vector<StoredTensor>& stored, NamedTensors expected,
                           const std::string& file, const Graph& graph);

// The tensors as write_safetensors() takes them; `tensors` must outlive the views.
std::vector<TensorView> views_of(const NamedTensors& tensors);

// Atomic, like write_safetensors().
void write_parameters(const std::filesystem::path& file, const NamedTensors& tensors);

// "bn1.num_batches_tracked".
std::string batches_tracked_name(const Layer& batch_norm);

// The values under a name, which must exist and have that type (otherwise it is our mistake).
std::vector<float>& floats(NamedTensors& tensors, const std::string& name);
const std::vector<float>& floats(const NamedTensors& tensors, const std::string& name);
std::int64_t& count(NamedTensors& tensors, const std::string& name);
std::int64_t count(const NamedTensors& tensors, const std::string& name);

}  // namespace pipetrain
