#include "run/outlook.hpp"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <set>
#include <sstream>
#include <string_view>

#include "base/bytes_text.hpp"
#include "base/columns.hpp"
#include "base/error.hpp"
#include "compile/compiled_pipeline.hpp"
#include "compile/segment_program.hpp"
#include "graph/graph.hpp"
#include "metrics/console.hpp"
#include "program/text.hpp"
#include "run/annealing.hpp"
#include "run/communicated.hpp"

namespace pipetrain {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, use_count> use_names = {
    "weights", "gradients", "optimizer", "activations", "workspace", "packets"};

ordered_json layers_json(const Graph& graph, const Plan& plan) {
  auto layers = ordered_json::array();
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    ordered_json shapes = ordered_json::object();
    for (const Parameter& parameter : layer.parameters)
      shapes[parameter.name] = parameter.shape.dims;
    layers.push_back({{"name", layer.name},
                      {"kind", kind_name(layer.spec)},
                      {"stage", stage_of(plan, LayerId{static_cast<int>(i)}).value},
                      {"output", layer.output.dims},
                      {"parameters", shapes}});
  }
  return layers;
}

std::string layers_text(const Graph& graph, const Plan& plan) {
  std::vector<std::vector<std::string>> rows = {{"layer", "kind", "stage", "output", "parameters"}};
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    std::string parameters;
    for (const Parameter& parameter : layer.parameters)
      parameters += fmt::format("{}{} {}", parameters.empty() ? "" : ", ", parameter.name,
                                parameter.shape.text());
    rows.push_back({layer.name, std::string(kind_name(layer.spec)),
                    std::to_string(stage_of(plan, LayerId{static_cast<int>(i)}).value),
                    layer.output.text(), parameters});
  }
  return columns(rows);
}

// One row per stage: its memory in training and the parts of that, and its memory in validation, if
// any.
std::string memory_text(const std::vector<HeldMemory>& stages) {
  const bool validates = stages[0].validation.total() > 0;
  std::vector<std::vector<std::string>> rows = {{"stage", "training"}};
  rows[0].insert(rows[0].end(), use_names.begin(), use_names.end());
  if (validates) rows[0].push_back("validation");
  for (std::size_t s = 0; s < stages.size(); ++s) {
    rows.push_back({std::to_string(s), bytes_text(stages[s].training.total())});
    for (const std::size_t bytes : stages[s].training.bytes)
      rows.back().push_back(bytes_text(bytes));
    if (validates) rows.back().push_back(bytes_text(stages[s].validation.total()));
  }
  return columns(rows);
}

ordered_json uses_json(const MemoryAccount& account) {
  ordered_json uses;
  for (std::size_t u = 0; u < use_names.size(); ++u)
    uses[std::string(use_names[u])] = account.bytes[u];
  return uses;
}

std::int64_t size_of(const std::unique_ptr<const Dataset>& dataset) {
  return dataset ? dataset->size() : 0;
}

}  // namespace

// For a stage on several workers, each copy counts by itself.
void check_memory_limit(const CompiledPipeline& pipeline) {
  const PipelineInput& in = pipeline.in;
  const auto limit = static_cast<std::size_t>(in.config.hardware.memory_limit);
  if (limit == 0) return;
  const std::vector<HeldMemory> stages = predicted_first_copies(pipeline);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const std::size_t bytes = stages[s].most();
    if (bytes <= limit) continue;
    const bool trains = stages[s].training.total() == bytes;
    const std::string smaller =
        !trains && in.config.validation.batch_size > 0
            ? "a smaller validation.batch_size"
            : fmt::format("{}smaller micro-batches (a larger pipeline.microbatches)",
                          is_uncut(in.config.pipeline) ? "" : "more stages, ");
    throw UsageError(fmt::format(
        "hardware.memory_limit = {} is too small: stage {} needs {} ({} bytes) for {}; use {}, or "
        "a larger limit",
        bytes_text(limit), s, bytes_text(bytes), bytes, trains ? "training" : "validation",
        smaller));
  }
}

ordered_json outlook(const CompiledPipeline& compiled) {
  const PipelineInput& in = compiled.in;
  const PipelineConfig& pipeline = in.config.pipeline;
  ordered_json result = {{"model", in.graph.name},
                         {"parameters", in.graph.parameter_count()},
                         {"schedule", schedule_name(pipeline)},
                         {"microbatches", pipeline.microbatches},
                         {"stages", plan_json(in.graph, in.plan)["stages"]}};
  const bool copies = compiled.needs.program.program.has_copies();
  for (StageId s{0}; copies && s.value < std::ssize(compiled.needs.stages); ++s.value)
    result["stages"][static_cast<std::size_t>(s.value)]["replicas"] =
        compiled.needs.stages[s].copies;
  result["communication"] = forecast_json(compiled);
  add_annealing(result, in.config, {in.steps_per_epoch, in.total_steps});
  check_memory_limit(compiled);
  for (const HeldMemory& stage : predicted_memory(compiled)) {
    result["memory_bytes"].push_back(stage.training.total());
    result["validation_memory_bytes"].push_back(stage.validation.total());
    result["memory"].push_back(uses_json(stage.training));
    result["validation_memory"].push_back(uses_json(stage.validation));
  }
  return result;
}

namespace {

// "64", or "at most 2600 tokens, of 30 pairs of lengths".
std::string minibatch_text(const PipelineInput& in) {
  const DataConfig& data = in.config.data;
  std::set<Lengths> lengths;
  for (const MinibatchSize& size : in.sizes.train) lengths.insert(size.lengths);
  if (data.kind != DataKind::ParallelText) return fmt::format("{}", data.batch_size);
  return data.batch_tokens > 0
             ? fmt::format("at most {} tokens, of {} pairs of lengths", data.batch_tokens,
                           lengths.size())
             : fmt::format("at most {}, of {} pairs of lengths", data.batch_size, lengths.size());
}

}  // namespace

ordered_json outlook_details(const CompiledPipeline& compiled, const Datasets& data,
                             const TrainingLength& length) {
  const PipelineInput& in = compiled.in;
  ordered_json result = {{"train_samples", size_of(data.train)},
                         {"validation_samples", size_of(data.validation)},
                         {"batch_size", in.config.data.batch_size},
                         {"steps_per_epoch", length.steps_per_epoch},
                         {"steps", length.steps},
                         {"layers", layers_json(in.graph, in.plan)}};
  std::istringstream lines(to_text(compiled.needs.program));
  for (std::string line; std::getline(lines, line);) result["program"].push_back(line);
  return result;
}

std::string outlook_text(const CompiledPipeline& compiled, const Datasets& data,
                         const TrainingLength& length) {
  const PipelineInput& in = compiled.in;
  return fmt::format(
      "{}\n{}\n{} samples to train, {} to validate; mini-batches of {}: {} an epoch, {} in all\n\n"
      "{}",
      layers_text(in.graph, in.plan), memory_text(predicted_memory(compiled)), size_of(data.train),
      size_of(data.validation), minibatch_text(in), length.steps_per_epoch, length.steps,
      to_text(compiled.needs.program));
}

}  // namespace pipetrain
