// Of several keys that exclude each other, chooses the one that holds.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "config/rules.hpp"
#include "own_order.hpp"

namespace pipetrain::config {
namespace {

void settle_pair(const Given& given, std::string_view a, std::int64_t& a_field, std::string_view b,
                 std::int64_t& b_field, Problems& problems) {
  if (a_field == 0 || b_field == 0 || !fine(given, {a, b})) return;
  const Place at = setting(given, a)->place, bt = setting(given, b)->place;
  if (at.source == bt.source) {
    problems.push_back(
        {std::max(at, bt), fmt::format("{} and {} are both given", a, b), "write one of them"});
    return;
  }
  (at.source < bt.source ? a_field : b_field) = 0;
}

// [model] file, or the model itself inline.
void settle_model(const Given& given, Config& config, Problems& problems) {
  const auto& parts = given.sources.model;
  const Value* file = setting(given, "model.file");
  const auto layers = parts.find("layers");
  if (file && layers != parts.end() && file->place.source < layers->second.place.source) {
    config.model.file.clear();
    return;
  }
  if (!file || config.model.file.empty()) return;
  for (const auto& [key, part] : parts) {
    if (part.place.source < file->place.source) continue;
    problems.push_back({part.place, fmt::format("model.{} and model.file are both given", key),
                        "describe the model in one of them: remove model.file, or write this in "
                        "the model file"});
  }
  config.inline_model.clear();
}

// A problem is one line; a deadlock names a line of the file for each worker in it.
std::string in_one_line(std::string text) {
  for (std::size_t at; (at = text.find("\n  ")) != text.npos;) text.replace(at, 3, "; ");
  return text;
}

// An order of the user's own, or a schedule's.
void settle_order(const Given& given, Config& config, Problems& problems) {
  PipelineConfig& pipeline = config.pipeline;
  const Value* csv = setting(given, "pipeline.schedule_csv");
  if (pipeline.schedule_csv.empty() || !fine(given, {"pipeline.schedule_csv"})) return;
  if (const Value* schedule = setting(given, "pipeline.schedule")) {
    const bool both = schedule->place.source == csv->place.source;
    if (both)
      problems.push_back({std::max(schedule->place, csv->place),
                          "pipeline.schedule and pipeline.schedule_csv are both given",
                          "write one of them"});
    if (both || csv->place.source < schedule->place.source) return pipeline.schedule_csv.clear();
  }
  if (!fine(given, {"pipeline.stages", "pipeline.microbatches"})) return;
  const auto refuse = [&](std::string_view why, const std::string& instead) {
    problems.push_back(
        {csv->place, fmt::format("{}: {}", pipeline.schedule_csv.string(), why), instead});
  };
  try {
    std::string text = read_whole_file(pipeline.schedule_csv);
    parse_own_order(text, pipeline.stages, pipeline.microbatches);
    pipeline.order_csv = std::move(text);
    pipeline.schedule.clear();
  } catch (const CannotRead& error) {
    refuse(fmt::format("cannot be read: {}", error.why()), "name a csv file");
  } catch (const UsageError& error) {
    refuse(in_one_line(error.what()), "");
  }
}

// "auto" is not a schedule: code that reads one before there is a plan finds the default.
void settle_automatic(Config& config) {
  PipelineConfig& pipeline = config.pipeline;
  if (pipeline.schedule != automatic_schedule) return;
  pipeline.automatic = true;
  pipeline.schedule = PipelineConfig().schedule;
}

}  // namespace

void settle(const Given& given, Config& config, Problems& problems) {
  settle_pair(given, "training.epochs", config.training.epochs, "training.steps",
              config.training.steps, problems);
  settle_pair(given, "validation.every_steps", config.validation.every_steps,
              "validation.every_epochs", config.validation.every_epochs, problems);
  settle_model(given, config, problems);
  settle_automatic(config);
  settle_order(given, config, problems);
}

}  // namespace pipetrain::config
