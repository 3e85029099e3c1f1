#include "report/run_record.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/median.hpp"
#include "base/printable.hpp"

namespace pipetrain {
namespace {

namespace fs = std::filesystem;
using ordered = nlohmann::ordered_json;  // keeps uses of memory in the order of plan.json

constexpr const char* kMetricsFile = "metrics.jsonl";

double read_number(const ordered& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number()) return std::numeric_limits<double>::quiet_NaN();
  return at->get<double>();
}

std::optional<double> find_number(const ordered& object, const char* key) {
  const double value = read_number(object, key);
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

// A value that is not a number, or does not fit, counts as 0: a report shows what can be read.
double read_or_zero(const ordered& object, const char* key) {
  return find_number(object, key).value_or(0);
}
std::int64_t read_whole(const ordered& object, const char* key) {
  const double value = read_or_zero(object, key);
  return std::abs(value) < 1e15 ? static_cast<std::int64_t>(value) : 0;
}
std::size_t read_bytes(const ordered& object, const char* key) {
  return static_cast<std::size_t>(std::max<std::int64_t>(read_whole(object, key), 0));
}
std::string read_text(const ordered& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? printable(at->get<std::string>()) : "";
}
const ordered& read_list(const ordered& object, const char* key) {
  static const ordered none = ordered::array();
  const auto at = object.find(key);
  return at != object.end() && at->is_array() ? *at : none;
}

std::string read_names(const ordered& object, const char* key) {
  std::string all;
  for (const ordered& name : read_list(object, key))
    if (name.is_string()) all += (all.empty() ? "" : ", ") + printable(name.get<std::string>());
  return all;
}

// Collects the lines of metrics.jsonl.
class MetricsReader {
 public:
  explicit MetricsReader(RunRecord& run) : run_(run) {}

  void read(const ordered& event) {
    const std::string kind = read_text(event, "event");
    if (kind == "start") start(event);
    if (kind == "step") step(event);
    if (kind == "validation") validation(event);
    if (kind == "rebalance") rebalance(event);
    if (kind == "stability")
      run_.stability.push_back(
          {read_whole(event, "step"), read_number(event, "lr_edge"), read_number(event, "margin")});
    if (kind == "warning") run_.warnings.push_back(read_text(event, "message"));
    if (kind == "end") end(event);
    if (kind == "error") {
      run_.ended = "failed: " + read_text(event, "message");
      run_.learnt = false;
    }
  }

  void finish() {
    if (seconds_ <= 0) return;
    run_.bubble /= seconds_;
    for (StageRecord& stage : run_.stages) {
      stage.busy /= seconds_;
      stage.waiting /= seconds_;
      stage.staleness /= static_cast<double>(run_.steps.size());
    }
    if (run_.step_ms == 0) run_.step_ms = 1e3 * median(step_seconds_);
  }

 private:
  void start(const ordered& event) {
    run_.ended.clear();
    run_.learnt = true;
    run_.model = read_text(event, "model");
    run_.schedule = read_text(event, "schedule");
    run_.parameters = read_whole(event, "parameters");
    run_.microbatches = read_whole(event, "microbatches");
    run_.total_steps = read_whole(event, "steps");
    run_.steps_per_epoch = read_whole(event, "steps_per_epoch");
  }

  void step(const ordered& event) {
    const double seconds = read_or_zero(event, "step_seconds");
    seconds_ += seconds;
    step_seconds_.push_back(seconds);
    run_.bubble += seconds * read_or_zero(event, "bubble");
    run_.steps.push_back({read_whole(event, "step"), seconds_, read_number(event, "loss"),
                          read_or_zero(event, "lr"), read_or_zero(event, "samples_per_second"),
                          read_or_zero(event, "bubble")});
    const ordered& stages = read_list(event, "stages");
    if (stages.size() > run_.stages.size()) run_.stages.resize(stages.size());
    for (std::size_t s = 0; s < stages.size(); ++s) {
      if (!stages[s].is_object()) continue;
      StageRecord& stage = run_.stages[s];
      stage.busy += seconds * read_or_zero(stages[s], "busy");
      stage.waiting += seconds * read_or_zero(stages[s], "waiting");
      stage.staleness += read_or_zero(stages[s], "staleness");
      stage.weight_versions =
          std::max(stage.weight_versions, static_cast<int>(std::min<std::int64_t>(
                                              read_whole(stages[s], "weight_versions"), 1 << 30)));
      stage.memory_bytes = std::max(stage.memory_bytes, read_bytes(stages[s], "memory_bytes"));
    }
  }

  void validation(const ordered& event) {
    ValidationPoint point{.step = read_whole(event, "step"),
                          .seconds = seconds_,
                          .loss = read_number(event, "loss"),
                          .accuracy = find_number(event, "accuracy"),
                          .perplexity = find_number(event, "perplexity"),
                          .bleu = find_number(event, "bleu")};
    if (run_.steps_per_epoch > 0)
      point.epoch = static_cast<double>(point.step) / static_cast<double>(run_.steps_per_epoch);
    run_.validations.push_back(point);
    const ordered& held = read_list(event, "validation_memory_bytes");
    for (std::size_t s = 0; s < std::min(held.size(), run_.stages.size()); ++s)
      if (held[s].is_number_unsigned()) run_.stages[s].validation_bytes = held[s];
  }

  void rebalance(const ordered& event) {
    const std::string refused = read_text(event, "refused");
    run_.moves.push_back(fmt::format(
        "After step {}, from [{}] to [{}]{}", read_whole(event, "step"), read_names(event, "from"),
        read_names(event, "to"), refused.empty() ? "." : ": refused, " + refused));
  }

  void end(const ordered& event) {
    const std::string stopped = read_text(event, "stopped_by");
    run_.ended = "finished";
    if (stopped == "early_stopping")
      run_.ended = "stopped early: no better validation in as many as early_stopping allows";
    else if (!stopped.empty())
      run_.ended = "stopped by " + stopped;
    run_.step_ms = read_or_zero(event, "step_ms_median");
    run_.predicted_step_ms = find_number(event, "step_ms_predicted");
    if (const std::string warning = read_text(event, "warning"); !warning.empty()) {
      run_.warnings.push_back(warning);
      run_.learnt = false;
    }
  }

  RunRecord& run_;
  double seconds_ = 0;
  std::vector<double> step_seconds_;
};

void read_metrics(RunRecord& run) {
  MetricsReader reader(run);
  TextLines lines(run.folder / kMetricsFile);
  std::int64_t number = 0;
  for (std::string line; lines.next(line);) {
    ++number;
    const ordered event = ordered::parse(line, nullptr, false);
    if (!event.is_object()) {
      run.warnings.push_back(fmt::format(
          "metrics.jsonl: line {} is not a JSON object; the lines from there on were not read",
          number));
      break;
    }
    reader.read(event);
  }
  reader.finish();
}

std::string ends_text(const ordered& stage) {
  const ordered& ends = read_list(stage, "layers");
  if (ends.size() != 2 || !ends[0].is_string() || !ends[1].is_string()) return "";
  const auto first = printable(ends[0].get<std::string>()),
             last = printable(ends[1].get<std::string>());
  return first == last ? first : first + " to " + last;
}

void read_plan(RunRecord& run, const ordered& plan) {
  const ordered &stages = read_list(plan, "stages"), &held = read_list(plan, "memory_bytes"),
                &uses = read_list(plan, "memory");
  if (run.stages.empty()) run.stages.resize(stages.size());
  for (std::size_t s = 0; s < std::min(stages.size(), run.stages.size()); ++s) {
    StageRecord& stage = run.stages[s];
    if (!stages[s].is_object()) continue;
    stage.layers = ends_text(stages[s]);
    stage.parameters = read_whole(stages[s], "parameters");
    if (s < held.size() && held[s].is_number_unsigned()) stage.predicted_bytes = held[s];
    if (s >= uses.size() || !uses[s].is_object()) continue;
    for (const auto& [use, size] : uses[s].items())
      if (size.is_number_unsigned()) stage.uses.emplace_back(printable(use), size);
  }
}

// The text of one of the run's files; empty, with a warning, if it cannot be read.
std::string file_text(RunRecord& run, const char* name) {
  try {
    return read_whole_file(run.folder / name);
  } catch (const CannotRead& error) {
    run.warnings.push_back(fmt::format("{}: cannot be read: {}", name, error.why()));
    return "";
  }
}

ordered file_json(RunRecord& run, const char* name) {
  const std::string content = file_text(run, name);
  ordered read = ordered::parse(content, nullptr, false);
  if (read.is_object()) return read;
  if (!content.empty()) run.warnings.push_back(fmt::format("{}: is not a JSON object", name));
  return ordered::object();
}

void check_run_directory(const fs::path& path) {
  constexpr const char* any_folder = "the folder of a run, such as runs/quickstart";
  if (is_file(path)) {
    const fs::path parent = path.has_parent_path() ? path.parent_path() : ".";
    throw UsageError(fmt::format(
        "{} is not a run directory but a file; name {}", path.string(),
        is_there(parent / kMetricsFile) ? "its folder, " + parent.string() : any_folder));
  }
  if (!is_folder(path) || !is_there(path / kMetricsFile))
    throw UsageError(fmt::format("{} is not a run directory: it has no {}; name {}", path.string(),
                                 kMetricsFile, any_folder));
}

}  // namespace

RunRecord read_run(const fs::path& folder) {
  check_run_directory(folder);
  RunRecord run{.folder = folder};
  const fs::path whole_path = fs::absolute(folder).lexically_normal();
  run.name = printable(
      (whole_path.has_filename() ? whole_path : whole_path.parent_path()).filename().string());
  read_metrics(run);
  read_plan(run, file_json(run, "plan.json"));
  const ordered build = file_json(run, "build.json");
  for (const auto& [name, value] : build.items())
    run.environment.emplace_back(
        printable(name), printable(value.is_string() ? value.get<std::string>() : value.dump()));
  run.config = file_text(run, "config.resolved.toml");
  return run;
}

}  // namespace pipetrain
