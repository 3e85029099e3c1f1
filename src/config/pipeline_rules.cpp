// Rules of [pipeline], and of what its workers run on.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "config/rules.hpp"
#include "own_order.hpp"
#include "schedules.hpp"

namespace pipetrain::config {
namespace {

std::string nearest_below_and_above(std::int64_t below, std::int64_t above) {
  return below > 0 && below != above ? fmt::format("{} or {}", below, above)
                                     : fmt::format("{}", above);
}

// A cut can move only if there is one, and only when the pipeline is empty.
void check_rebalance(const Given& given, const Config& config, Problems& problems) {
  const PipelineConfig& pipeline = config.pipeline;
  if (!fine(given, {"pipeline.rebalance", "pipeline.schedule", "pipeline.schedule_csv"})) return;
  if (pipeline.rebalance == Rebalance::Off) return;
  const bool own = has_own_order(pipeline);
  if (std::ranges::adjacent_find(pipeline.replicas, std::not_equal_to{}) != pipeline.replicas.end())
    return problems.push_back(
        {place(given, {"pipeline.rebalance", "pipeline.replicas"}),
         "pipeline.rebalance = \"auto\" needs the same number of replicas on every stage",
         "write rebalance = \"off\", or one number of replicas"});
  if (!own && !is_uncut(pipeline) && flushes(require_schedule(pipeline.schedule))) return;
  const std::string what =
      own ? "an order of your own" : fmt::format("schedule \"{}\"", pipeline.schedule);
  problems.push_back(
      {place(given, {"pipeline.rebalance", "pipeline.schedule"}),
       fmt::format("pipeline.rebalance = \"auto\" cannot move a cut under {}, which {}", what,
                   !own && is_uncut(pipeline) ? "has none" : "need not drain at an update"),
       "write rebalance = \"off\", or a schedule that drains, such as \"1f1b\""});
}

void check_microbatches(const Given& given, const Config& config, Problems& problems) {
  const std::int64_t batch = config.data.batch_size, parts = config.pipeline.microbatches;
  if (!fine(given, {"data.kind", "data.batch_size", "pipeline.microbatches"})) return;
  if (batch % parts == 0) return;
  if (config.data.kind == DataKind::ParallelText) return;  // each mini-batch has its own size
  const Place where = place(given, {"pipeline.microbatches", "data.batch_size"});
  if (parts > batch) {
    problems.push_back(
        {where,
         fmt::format("pipeline.microbatches = {} is more than data.batch_size = {}", parts, batch),
         fmt::format("write microbatches = {0} or less, or batch_size = {1}", batch, parts)});
    return;
  }
  std::int64_t fewer = parts, more = parts;
  while (batch % fewer != 0) --fewer;
  while (batch % more != 0) ++more;
  problems.push_back(
      {where,
       fmt::format("data.batch_size = {} does not divide into pipeline.microbatches = {}", batch,
                   parts),
       fmt::format("write batch_size = {}, or microbatches = {}",
                   nearest_below_and_above(batch / parts * parts, (batch / parts + 1) * parts),
                   nearest_below_and_above(fewer, more))});
}

// Why stages may not recompute in segments, and what to write; "" if they may.
std::pair<std::string, std::string> refusal_of_segments(const PipelineConfig& pipeline) {
  const std::string by_themselves = "recompute = \"stage\"";
  if (has_own_order(pipeline))
    return {"an order of your own says itself where stages recompute", by_themselves};
  if (pipeline.automatic)
    return {"it needs the full warm-up, which no plan chooses",
            "a schedule and warmup = \"full\", or " + by_themselves};
  if (!takes_segments(require_schedule(pipeline.schedule)))
    return {fmt::format("it needs a schedule that takes the full warm-up and never drains, and "
                        "\"{}\" is none",
                        pipeline.schedule),
            "schedule = \"pipemare\" and warmup = \"full\", or " + by_themselves};
  if (pipeline.warmup != Warmup::Full)
    return {fmt::format("it needs the full warm-up, and pipeline.warmup is \"{}\"",
                        word_of(pipeline.warmup)),
            "warmup = \"full\", or " + by_themselves};
  if (takes_gradient_rule(require_schedule(pipeline.schedule)) &&
      pipeline.gradient_rule != GradientRule::Saved)
    return {
        "a backward's weights are not there yet when a segment recomputes, as "
        "pipeline.gradient_rule = \"recompute\" needs them",
        "gradient_rule = \"saved\", or " + by_themselves};
  if (pipeline.replicas != PipelineConfig().replicas)
    return {"its stages cannot have replicas", "replicas = 1, or " + by_themselves};
  return {};
}

void check_kinds(const Given& given, const Config& config, Problems& problems) {
  if (!fine(given, {"pipeline.recompute", "pipeline.schedule"})) return;
  if (config.pipeline.recompute.rule == Recompute::Kinds && config.pipeline.automatic)
    problems.push_back(
        {place(given, {"pipeline.recompute", "pipeline.schedule"}),
         "pipeline.recompute names kinds of layers, which pipeline.schedule = \"auto\" does not "
         "predict",
         "write recompute = \"stage\", or name a schedule"});
}

void check_segments(const Given& given, const Config& config, Problems& problems) {
  const PipelineConfig& pipeline = config.pipeline;
  if (!fine(given, {"pipeline.recompute", "pipeline.segment_stages", "pipeline.schedule",
                    "pipeline.schedule_csv", "pipeline.warmup", "pipeline.gradient_rule",
                    "pipeline.replicas", "pipeline.stages"}))
    return;
  if (pipeline.recompute.rule != Recompute::Segments) return;
  if (const auto [why, instead] = refusal_of_segments(pipeline); !why.empty())
    return problems.push_back(
        {place(given, {"pipeline.recompute", "pipeline.schedule", "pipeline.warmup",
                       "pipeline.gradient_rule", "pipeline.replicas"}),
         "pipeline.recompute = \"segments\": " + why, "write " + instead});
  if (pipeline.segment_stages > pipeline.stages)
    problems.push_back(
        {place(given, {"pipeline.segment_stages", "pipeline.stages"}),
         fmt::format("pipeline.segment_stages = {} is more than pipeline.stages = {}",
                     pipeline.segment_stages, pipeline.stages),
         fmt::format("write segment_stages = {} or less", pipeline.stages)});
}

void check_split(const Given& given, const Config& config, Problems& problems) {
  const auto& names = config.pipeline.split.first_layers;
  if (!fine(given, {"pipeline.split", "pipeline.stages", "pipeline.virtual_stages",
                    "pipeline.schedule", "pipeline.schedule_csv"}))
    return;
  if (has_own_order(config.pipeline) == config.pipeline.schedule_csv.empty())
    return;  // the file was refused already
  const std::size_t cuts = static_cast<std::size_t>(model_parts(config.pipeline)) - 1;
  if (config.pipeline.split.rule != SplitRule::FirstLayers || names.size() == cuts) return;
  if (is_uncut(config.pipeline))
    return problems.push_back(
        {place(given, {"pipeline.split"}),
         fmt::format("pipeline.split names {}, but schedule \"{}\" does not cut the model",
                     counted(std::ssize(names), "layer"), config.pipeline.schedule),
         "write split = \"auto\", or leave it out"});
  problems.push_back(
      {place(given, {"pipeline.split"}),
       fmt::format("pipeline.split names {}, but pipeline.stages = {} makes {}",
                   counted(std::ssize(names), "layer"), config.pipeline.stages,
                   counted(static_cast<std::int64_t>(cuts), "cut")),
       model_parts(config.pipeline) == config.pipeline.stages
           ? fmt::format("name the first layer of each stage but the first, or write stages = {}",
                         names.size() + 1)
           : fmt::format("name the first layer of each of the model's {} parts but the first",
                         cuts + 1)});
}

// Why stages may not have these replicas; "" if they may.
std::string refusal_of_replicas(const PipelineConfig& pipeline) {
  const ScheduleRequest request{.schedule = pipeline.schedule,
                                .stages = pipeline.stages,
                                .microbatches = pipeline.microbatches,
                                .warmup = pipeline.warmup,
                                .vertical_sync = pipeline.vertical_sync,
                                .virtual_stages = pipeline.virtual_stages,
                                .replicas = pipeline.replicas};
  try {
    if (replicas_of(request).empty()) return "";
    if (has_own_order(pipeline))
      return "an order of your own already says which workers share a stage; write replicas = 1";
    refuse_replicas(require_schedule(pipeline.schedule), request);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

bool check_replicas(const Given& given, const Config& config, Problems& problems) {
  // A search itself reports why it finds no plan.
  if (config.pipeline.automatic) return config.pipeline.replicas == PipelineConfig().replicas;
  if (!fine(given, {"pipeline.replicas", "pipeline.stages", "pipeline.microbatches",
                    "pipeline.schedule", "pipeline.schedule_csv", "pipeline.vertical_sync"}))
    return false;
  const std::string refusal = refusal_of_replicas(config.pipeline);
  if (!refusal.empty())
    problems.push_back(
        {place(given, {"pipeline.replicas"}),
         (refusal.starts_with("replicas = ") ? "pipeline." : "pipeline.replicas: ") + refusal, ""});
  return refusal.empty();
}

// Several workers may share a device, but a device without a worker would be idle.
void check_devices(const Given& given, const Config& config, Problems& problems) {
  const std::size_t devices = config.hardware.devices.size();
  if (!fine(given, {"hardware.devices", "hardware.backend", "pipeline.stages"})) return;
  const int workers = worker_count(config.pipeline);
  if (config.hardware.backend != "cuda" || std::cmp_less_equal(devices, workers)) return;
  problems.push_back({place(given, {"hardware.devices"}),
                      fmt::format("hardware.devices names {}, but pipeline.stages = {} makes {}",
                                  counted(static_cast<std::int64_t>(devices), "device"),
                                  config.pipeline.stages, counted(workers, "worker")),
                      fmt::format("name at most {}, or write stages = {}", workers, devices)});
}

}  // namespace

void check_pipeline(const Given& given, const Config& config, Problems& problems) {
  check_microbatches(given, config, problems);
  check_rebalance(given, config, problems);
  check_split(given, config, problems);
  check_kinds(given, config, problems);
  check_segments(given, config, problems);
  if (check_replicas(given, config, problems)) check_devices(given, config, problems);
}

}  // namespace pipetrain::config
