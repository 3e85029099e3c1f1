// What times hold for: whatever changes what a kernel does, or where it does it, is part of the
// key.
#include <spdlog/fmt/fmt.h>

#include "backend/cpu/onednn_info.hpp"
#include "base/rng.hpp"
#include "config/words.hpp"
#include "machine/processor.hpp"
#include "machine/threads.hpp"
#include "profile/measure.hpp"

namespace pipetrain {
namespace {

// Whatever changes what a kernel does changes this.
std::string shapes_of(const Graph& graph) {
  std::string text = graph.input.text();
  for (const Layer& layer : graph.layers) {
    text += fmt::format("|{} {} {} {}", layer.name, kind_name(layer.spec), layer.output.text(),
                        layer.flops);
    for (const ValueId input : layer.inputs) text += fmt::format(" {}", input.value);
    for (const Parameter& parameter : layer.parameters) text += " " + parameter.shape.text();
  }
  return fmt::format("{:016x}", hash_name(text));
}

std::string optimizer_of(const OptimizerConfig& optimizer) {
  return fmt::format("{}{}", word_of(optimizer.kind), moments(optimizer) == 1 ? ", momentum" : "");
}

}  // namespace

ProfileKey profile_key(const Config& config, const Graph& graph) {
  return {.model = graph.name,
          .shapes = shapes_of(graph),
          .precision = std::string(word_of(config.training.precision)),
          .backend = config.hardware.backend,
          .optimizer = optimizer_of(config.optimizer),
          .machine = fmt::format("{}, {}, {} cores", processor_name(), cpu::onednn_instructions(),
                                 available_cores()),
          .library = fmt::format("oneDNN {}", cpu::onednn_version())};
}

}  // namespace pipetrain
