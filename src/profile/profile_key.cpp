// What times are valid for: whatever changes what a kernel does, or where it does it, is part of
// the key.
#include <spdlog/fmt/fmt.h>

#include "backend/cpu/onednn_info.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/rng.hpp"
#include "compile/segment_program.hpp"
#include "config/words.hpp"
#include "graph/graph.hpp"
#include "machine/processor.hpp"
#include "machine/threads.hpp"
#include "profile/measure.hpp"

namespace pipetrain {
namespace {

// A text that changes with anything that changes what a kernel does.
std::string shapes_of(const Graph& graph) {
  std::string text = graph.input.text();
  for (const Layer& layer : graph.layers) {
    text += fmt::format("|{} {} {} {}", layer.name, kind_name(layer.spec), layer.output.text(),
                        layer.flops);
    for (const ValueId input : layer.inputs) text += fmt::format(" {}", input.value);
    for (const Parameter& parameter : layer.parameters)
      text += (parameter.trained ? " " : " fixed ") + parameter.shape.text();
  }
  return fmt::format("{:016x}", hash_name(text));
}

// An update that needs its gradient's norm is not fused into a backward.
std::string optimizer_of(const Config& config) {
  return fmt::format("{}{}", word_of(config.optimizer.kind),
                     moments(config.optimizer) == 1 ? ", momentum" : "") +
         (needs_norm(config) ? ", by its norm" : "");
}

}  // namespace

ProfileKey profile_key(const Config& config, const Graph& graph) {
  return {.model = graph.name,
          .shapes = shapes_of(graph),
          .precision = std::string(word_of(config.training.precision)),
          .backend = config.hardware.backend,
          .optimizer = optimizer_of(config),
          .machine = fmt::format("{}, {}, {} cores", processor_name(), cpu::onednn_instructions(),
                                 available_cores()),
          .library = fmt::format("oneDNN {}", cpu::onednn_version())};
}

void require_same(const ProfileKey& of, const ProfileKey& wanted, const std::string& file) {
  const std::pair<const char*, std::string ProfileKey::*> parts[] = {
      {"model", &ProfileKey::model},         {"shapes", &ProfileKey::shapes},
      {"precision", &ProfileKey::precision}, {"backend", &ProfileKey::backend},
      {"optimizer", &ProfileKey::optimizer}, {"machine", &ProfileKey::machine},
      {"library", &ProfileKey::library}};
  for (const auto& [name, part] : parts)
    if (of.*part != wanted.*part)
      throw UsageError(
          fmt::format("{}: it was measured for another {} ({}, not {}); measure again: pipetrain "
                      "profile CONFIG",
                      printable(file), name, printable(of.*part), wanted.*part));
}

}  // namespace pipetrain
