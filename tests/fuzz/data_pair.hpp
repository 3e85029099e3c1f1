// A data set of two files, one of them from outside: read, and every sample of it.
#pragma once

#include <memory>
#include <vector>

#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "target.hpp"

namespace pipetrain::fuzz {

struct GoodPair {
  std::string_view inputs, labels;  // of two samples [1, 2, 3], below class 4
};
using OpenPair = std::unique_ptr<const Dataset> (*)(const DataFiles&, const Graph&);

inline const Graph& small_model() {
  static const Graph graph = read_model_text(R"(
input = { shape = [1, 2, 3] }
layers = [{ name = "flat", kind = "flatten" }, { name = "fc", kind = "linear", out_features = 4 }]
)",
                                             "small.toml");
  return graph;
}

inline void read_all(const Dataset& data) {
  std::vector<float> input(static_cast<std::size_t>(data.input_shape().elements()));
  for (std::int64_t i = 0; i < data.size(); ++i) {
    std::int32_t target = -1;
    data.read({.index = i}, {.input = input.data(), .classes = &target});
    require(target >= 0 && target < data.classes(), "a label is a class of the model");
  }
}

inline int read_pair(OpenPair open, const GoodPair& good, const std::uint8_t* bytes,
                     std::size_t count) {
  static MemoryFile inputs, labels;
  if (count == 0) return 0;
  const std::string_view rest = text_of(bytes, count).substr(1);
  const bool is_inputs = bytes[0] == 'i';
  return refused_or_read([&] {
    read_all(*open({inputs.holding(is_inputs ? rest : good.inputs),
                    labels.holding(is_inputs ? good.labels : rest)},
                   small_model()));
  });
}

}  // namespace pipetrain::fuzz
