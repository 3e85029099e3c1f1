// Model files. A model that is accepted has sizes that can be counted.
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "target.hpp"

using namespace pipetrain;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  return fuzz::refused_or_read([&] {
    const std::string text(fuzz::text_of(bytes, count));
    const Graph graph = read_model_text(text, "model.toml");
    fuzz::require(!graph.layers.empty(), "a model has layers");
    fuzz::require(graph.parameter_count() >= 0, "parameters are counted without overflow");
    for (const Layer& layer : graph.layers) {
      fuzz::require(layer.output.elements() > 0, "a layer has an output");
      fuzz::require(layer.flops >= 0, "operations are counted without overflow");
    }
  });
}
