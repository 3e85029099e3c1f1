#include "config/rules.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "config/fields.hpp"
#include "own_order.hpp"
#include "schedules.hpp"

namespace pipetrain::config {
namespace {

using Paths = std::initializer_list<std::string_view>;

const Value* setting(const Given& given, std::string_view path) {
  const auto found = given.sources.settings.find(path);
  return found == given.sources.settings.end() ? nullptr : &found->second;
}

// The place of the first of `paths` that somebody wrote.
Place place(const Given& given, Paths paths) {
  for (const std::string_view path : paths) {
    if (const Value* value = setting(given, path)) return value->place;
  }
  return given.sources.end;
}

// The key itself, or a table that it belongs to.
bool is_wrong(const Given& given, std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return given.wrong.contains(path) || (dot != path.npos && is_wrong(given, path.substr(0, dot)));
}

bool fine(const Given& given, Paths paths) {
  return std::ranges::none_of(paths, [&](std::string_view path) { return is_wrong(given, path); });
}

// ---- settle

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
    problems.push_back({part.place, fmt::format("model.{} is given, and model.file too", key),
                        "describe the model in one of them: remove model.file, or write this in "
                        "the model file"});
  }
  config.inline_model.clear();
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
    refuse(error.what(), "");
  }
}

// "auto" is no schedule: whoever reads one before there is a plan finds the default.
void settle_automatic(Config& config) {
  PipelineConfig& pipeline = config.pipeline;
  if (pipeline.schedule != automatic_schedule) return;
  pipeline.automatic = true;
  pipeline.schedule = PipelineConfig().schedule;
}

// ---- rules

void check_model(const Given& given, const Config& config, Problems& problems) {
  if (!fine(given, {"model.file", "model.layers"}) || !config.model.file.empty()) return;
  if (given.sources.model.contains("layers")) return;
  const auto& parts = given.sources.model;
  problems.push_back({parts.empty() ? given.sources.end : parts.begin()->second.place,
                      "no model is named",
                      "write [model] with file = \"lenet5.toml\", or [[model.layers]]"});
}

std::string nearest_below_and_above(std::int64_t below, std::int64_t above) {
  return below > 0 && below != above ? fmt::format("{} or {}", below, above)
                                     : fmt::format("{}", above);
}

// A cut can move where the pipeline is empty, and where there is one.
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
       "write rebalance = \"off\", or a schedule that drains, as \"1f1b\""});
}

void check_microbatches(const Given& given, const Config& config, Problems& problems) {
  const std::int64_t batch = config.data.batch_size, parts = config.pipeline.microbatches;
  if (!fine(given, {"data.kind", "data.batch_size", "pipeline.microbatches"})) return;
  if (batch % parts == 0) return;
  if (config.data.kind == DataKind::ParallelText) return;  // mini-batches have sizes of their own
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

void check_split(const Given& given, const Config& config, Problems& problems) {
  const auto& names = config.pipeline.split.first_layers;
  if (!fine(given, {"pipeline.split", "pipeline.stages", "pipeline.virtual_stages",
                    "pipeline.schedule", "pipeline.schedule_csv"}))
    return;
  if (has_own_order(config.pipeline) == config.pipeline.schedule_csv.empty())
    return;  // the file was refused
  const std::size_t cuts = static_cast<std::size_t>(model_parts(config.pipeline)) - 1;
  if (config.pipeline.split.rule != SplitRule::FirstLayers || names.size() == cuts) return;
  problems.push_back(
      {place(given, {"pipeline.split"}),
       fmt::format("pipeline.split names {} layers, but pipeline.stages = {} makes {} cuts",
                   names.size(), config.pipeline.stages, cuts),
       model_parts(config.pipeline) == config.pipeline.stages
           ? fmt::format("name the first layer of each stage but the first, or write stages = {}",
                         names.size() + 1)
           : fmt::format("name the first layer of each of the model's {} parts but the first",
                         cuts + 1)});
}

// Whether stages may have that number of workers, of which nothing is said twice: "" or why not.
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
      return "an order of your own says itself which workers share a stage; write replicas = 1";
    refuse_replicas(require_schedule(pipeline.schedule), request);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

bool check_replicas(const Given& given, const Config& config, Problems& problems) {
  // A search says itself why it finds none.
  if (config.pipeline.automatic) return config.pipeline.replicas == PipelineConfig().replicas;
  if (!fine(given, {"pipeline.replicas", "pipeline.stages", "pipeline.microbatches",
                    "pipeline.schedule", "pipeline.schedule_csv", "pipeline.vertical_sync"}))
    return false;
  const std::string refusal = refusal_of_replicas(config.pipeline);
  if (!refusal.empty())
    problems.push_back({place(given, {"pipeline.replicas"}), "pipeline.replicas: " + refusal, ""});
  return refusal.empty();
}

// Fewer devices than workers share; more would lie idle.
void check_devices(const Given& given, const Config& config, Problems& problems) {
  const std::size_t devices = config.hardware.devices.size();
  if (!fine(given, {"hardware.devices", "hardware.backend", "pipeline.stages"})) return;
  const int workers = worker_count(config.pipeline);
  if (config.hardware.backend != "cuda" || std::cmp_less_equal(devices, workers)) return;
  problems.push_back(
      {place(given, {"hardware.devices"}),
       fmt::format("hardware.devices names {} devices, but pipeline.stages = {} makes {} worker{}",
                   devices, config.pipeline.stages, workers, workers == 1 ? "" : "s"),
       fmt::format("name at most {}, or write stages = {}", workers, devices)});
}

void check_precision(const Given& given, const Config& config, Problems& problems) {
  if (!fine(given, {"training.precision", "hardware.backend"})) return;
  if (config.training.precision == Precision::F32 || config.hardware.backend == "cpu") return;
  problems.push_back({place(given, {"training.precision"}),
                      fmt::format("training.precision = \"{}\" is not built yet for "
                                  "hardware.backend = \"{}\"",
                                  word_of(config.training.precision), config.hardware.backend),
                      "write precision = \"f32\", or backend = \"cpu\""});
}

struct FileKey {
  std::string_view path;
  bool named;
};

// Of the chosen kind of data.
std::vector<FileKey> file_keys(const Config& config, SampleFiles samples) {
  Config chosen = config;
  std::vector<FileKey> files;
  for (const Key& key : keys())
    if (key.samples == samples && applies(key, chosen))
      files.push_back({key.path, !write_field(key, chosen).empty()});
  return files;
}

bool reads_files(const Config& config) { return !file_keys(config, SampleFiles::Train).empty(); }

void check_data_files(const Given& given, const Config& config, Problems& problems) {
  if (!fine(given, {"data.kind"})) return;
  const auto need = [&](const FileKey& key, const std::string& why) {
    if (key.named || !fine(given, {key.path})) return;
    problems.push_back({place(given, {key.path, "data.kind"}),
                        fmt::format("{} is missing: {}", key.path, why),
                        fmt::format("write {} = \"FILE\"", find_key(key.path)->name())});
  };
  for (const FileKey& key : file_keys(config, SampleFiles::Train))
    need(key, fmt::format("data.kind = \"{}\" reads it", word_of(config.data.kind)));
  const auto validation = file_keys(config, SampleFiles::Validation);
  if (std::ranges::none_of(validation, &FileKey::named)) return;
  for (const FileKey& key : validation) need(key, "they come in pairs");
}

// A box of any size and shape leaves nothing for zeros to surround.
void check_crops(const Given& given, const Config& config, Problems& problems) {
  const DataConfig& data = config.data;
  if (data.kind != DataKind::ImageFolder || !data.random_resized_crop || data.padding == 0) return;
  problems.push_back({place(given, {"data.padding", "data.random_resized_crop"}),
                      "data.padding is given, and data.random_resized_crop too",
                      "write one of them: padding = 0, or random_resized_crop = false"});
}

// Which samples validate is said once: by files, by ranges, or by a share and a seed.
void check_validation_fraction(const Given& given, const Config& config, Problems& problems) {
  const DataConfig& data = config.data;
  if (data.validation_fraction == 0 || !reads_files(config) ||
      !fine(given, {"data.kind", "data.validation_fraction"}))
    return;
  std::vector<FileKey> others = file_keys(config, SampleFiles::Validation);
  others.push_back({"data.train_range", data.train_range.has_value()});
  others.push_back({"data.validation_range", data.validation_range.has_value()});
  for (const FileKey& other : others) {
    if (!other.named) continue;
    problems.push_back(
        {place(given, {"data.validation_fraction"}),
         fmt::format("data.validation_fraction is given, and {} too", other.path),
         "say once which samples validate: remove one of them (validation_fraction = 0 is as "
         "good)"});
    return;
  }
}

void check_validation(const Given& given, const Config& config, Problems& problems) {
  const ValidationConfig& wanted = config.validation;
  const DataConfig& data = config.data;
  const bool any = wanted.every_steps > 0 || wanted.every_epochs > 0 || wanted.before_first_step;
  if (!any || !fine(given, {"data.kind", "data.validation_range", "data.validation_fraction"}))
    return;
  const auto wrong_file = [&](const Key& key) {
    return key.samples == SampleFiles::Validation && is_wrong(given, key.path);
  };
  if (std::ranges::any_of(keys(), wrong_file)) return;
  const bool files = reads_files(config);
  const bool named =
      std::ranges::any_of(file_keys(config, SampleFiles::Validation), &FileKey::named) ||
      data.validation_range || data.validation_fraction > 0;
  if (files ? named : data.validation_samples > 0) return;
  problems.push_back({place(given, {"validation.every_epochs", "validation.every_steps",
                                    "validation.before_first_step"}),
                      "validation is asked for, but [data] has no validation samples",
                      files ? "write data.validation_fraction = 0.1 or data.validation_range, or "
                              "name validation files"
                            : "write data.validation_samples above 0"});
}

void check_metric(const Given& given, const Config& config, Problems& problems) {
  if (!fine(given, {"data.kind", "validation.metric"})) return;
  if (config.validation.metric != Metric::Bleu || config.data.kind == DataKind::ParallelText)
    return;
  problems.push_back({place(given, {"validation.metric"}),
                      fmt::format("validation.metric = \"bleu\" compares translations, and "
                                  "data.kind = \"{}\" has none",
                                  word_of(config.data.kind)),
                      "write metric = \"loss\", or data.kind = \"parallel_text\""});
}

void check_optimizer(const Given& given, const Config& config, Problems& problems) {
  const OptimizerConfig& optimizer = config.optimizer;
  if (optimizer.kind != OptimizerKind::Sgd || !optimizer.nesterov || optimizer.momentum > 0) return;
  if (!fine(given, {"optimizer.kind", "optimizer.nesterov", "optimizer.momentum"})) return;
  problems.push_back({place(given, {"optimizer.nesterov"}),
                      "optimizer.nesterov = true without momentum",
                      "write momentum = 0.9, or nesterov = false"});
}

void check_lr_schedule(const Given& given, const Config& config, Problems& problems) {
  const LrScheduleConfig& schedule = config.lr_schedule;
  if (!fine(given, {"lr_schedule.kind", "lr_schedule.milestones", "lr_schedule.warmup_steps",
                    "lr_schedule.min_lr", "optimizer.lr"})) {
    return;
  }
  const auto wrong = [&](Paths paths, const std::string& what, const std::string& instead) {
    problems.push_back({place(given, paths), what, instead});
  };
  if (schedule.kind == LrKind::Step && schedule.milestones.empty()) {
    wrong({"lr_schedule.milestones", "lr_schedule.kind"},
          "lr_schedule.kind = \"step\" has no milestones",
          "write milestones = [1000, 2000], the steps at which lr is multiplied by gamma");
  }
  if (schedule.kind == LrKind::InverseSqrt && schedule.warmup_steps == 0) {
    wrong({"lr_schedule.warmup_steps", "lr_schedule.kind"},
          "lr_schedule.kind = \"inverse_sqrt\" starts after a warm-up, and there is none",
          "write warmup_steps = 1 or more");
  }
  const bool falls = schedule.kind == LrKind::Linear || schedule.kind == LrKind::Cosine;
  if (falls && schedule.min_lr > config.optimizer.lr) {
    wrong({"lr_schedule.min_lr", "optimizer.lr"},
          fmt::format("lr_schedule.min_lr = {} is above optimizer.lr = {}", schedule.min_lr,
                      config.optimizer.lr),
          fmt::format("write min_lr = {} or less", config.optimizer.lr));
  }
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

void check_rules(const Given& given, const Config& config, Problems& problems) {
  check_model(given, config, problems);
  check_microbatches(given, config, problems);
  check_rebalance(given, config, problems);
  check_split(given, config, problems);
  if (check_replicas(given, config, problems)) check_devices(given, config, problems);
  check_precision(given, config, problems);
  check_data_files(given, config, problems);
  check_crops(given, config, problems);
  check_validation_fraction(given, config, problems);
  check_validation(given, config, problems);
  check_metric(given, config, problems);
  check_optimizer(given, config, problems);
  check_lr_schedule(given, config, problems);
}

std::vector<std::string> unused_keys(const Given& given, const Config& config) {
  Config chosen = config;
  std::vector<std::string> notes;
  for (const Key& key : keys()) {
    const Value* value = setting(given, key.path);
    if (!value || applies(key, chosen)) continue;
    const std::string now = write_field(*find_key(key.of), chosen);
    notes.push_back(fmt::format(
        "{}: {} has no effect {} (it is for {})", value->place.text(), key.path,
        now.empty() ? fmt::format("without {}", key.of) : fmt::format("with {} = {}", key.of, now),
        fmt::join(key.only, ", ")));
  }
  return notes;
}

}  // namespace pipetrain::config
