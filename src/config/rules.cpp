#include "config/rules.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include "base/counted.hpp"
#include "config/fields.hpp"
#include "schedules.hpp"

namespace pipetrain::config {
namespace {

void check_model(const Given& given, const Config& config, Problems& problems) {
  if (!fine(given, {"model.file", "model.layers"}) || !config.model.file.empty()) return;
  if (given.sources.model.contains("layers")) return;
  const auto& parts = given.sources.model;
  problems.push_back({parts.empty() ? given.sources.end : parts.begin()->second.place,
                      "no model is named",
                      "write [model] with file = \"lenet5.toml\", or [[model.layers]]"});
}

void check_precision(const Given& given, const Config& config, Problems& problems) {
  if (!fine(given, {"training.precision", "hardware.backend"})) return;
  if (config.training.precision == Precision::F32 || config.hardware.backend == "cpu") return;
  problems.push_back(
      {place(given, {"training.precision"}),
       fmt::format("training.precision = \"{}\" is not supported yet for hardware.backend = \"{}\"",
                   word_of(config.training.precision), config.hardware.backend),
       "write precision = \"f32\", or backend = \"cpu\""});
}

void check_optimizer(const Given& given, const Config& config, Problems& problems) {
  const OptimizerConfig& optimizer = config.optimizer;
  if (optimizer.kind != OptimizerKind::Sgd || !optimizer.nesterov || optimizer.momentum > 0) return;
  if (!fine(given, {"optimizer.kind", "optimizer.nesterov", "optimizer.momentum"})) return;
  problems.push_back({place(given, {"optimizer.nesterov"}),
                      "optimizer.nesterov = true needs momentum",
                      "write momentum = 0.9, or nesterov = false"});
}

void check_rates(const Given& given, const Config& config, Problems& problems) {
  const std::size_t names = config.optimizer.lr_names.patterns.size(),
                    factors = config.optimizer.lr_factors.size();
  if (names == factors || !fine(given, {"optimizer.lr_names", "optimizer.lr_factors"})) return;
  problems.push_back({place(given, {"optimizer.lr_factors", "optimizer.lr_names"}),
                      fmt::format("optimizer.lr_names has {}, but lr_factors has {}",
                                  counted(static_cast<std::int64_t>(names), "name"),
                                  counted(static_cast<std::int64_t>(factors), "number")),
                      "write a factor for each name"});
}

// The bound is that of sgd, with or without momentum, and gradients are computed in this process.
void check_stability(const Given& given, const Config& config, Problems& problems) {
  if (config.stability.every_steps == 0) return;
  if (!fine(given, {"stability.every_steps", "optimizer.kind", "hardware.workers"})) return;
  const bool is_sgd = config.optimizer.kind == OptimizerKind::Sgd;
  if (is_sgd && config.hardware.workers != Workers::Mpi) return;
  problems.push_back(
      {place(given, {"stability.every_steps"}),
       is_sgd
           ? "stability cannot be measured on several ranks (hardware.workers = \"mpi\")"
           : fmt::format("stability cannot be measured for optimizer.kind = \"{}\", only for sgd",
                         word_of(config.optimizer.kind)),
       "write every_steps = 0"});
}

void check_init(const Given& given, const Config& config, Problems& problems) {
  if (config.model.init_ignore.patterns.empty() || !config.model.init.empty()) return;
  if (!fine(given, {"model.init", "model.init_ignore"})) return;
  problems.push_back({place(given, {"model.init_ignore"}),
                      "model.init_ignore is given without model.init",
                      "write init = \"weights.safetensors\", or leave it out"});
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
          "lr_schedule.kind = \"inverse_sqrt\" starts after a warm-up, but there is none",
          "write warmup_steps = 1 or more");
  }
  if (schedule.kind != LrKind::Constant && schedule.min_lr > config.optimizer.lr) {
    wrong({"lr_schedule.min_lr", "optimizer.lr"},
          fmt::format("lr_schedule.min_lr = {} is above optimizer.lr = {}", schedule.min_lr,
                      config.optimizer.lr),
          fmt::format("write min_lr = {} or less", config.optimizer.lr));
  }
}

bool validates_in_training(const ValidationConfig& validation) {
  return validation.every_steps > 0 || validation.every_epochs > 0;
}

// Under "auto" it is not known yet which schedule's keys have an effect.
bool is_unused(const Key& key, Config& config) {
  return !applies(key, config) && !(config.pipeline.automatic && key.of == "pipeline.schedule");
}

template <class T>
void reset(const FieldOf<T>& field, Config& config, Config& defaults) {
  field(config) = field(defaults);
}
void reset(const WordField& field, Config& config, Config& defaults) {
  field.set(config, field.get(defaults));
}
void reset(std::monostate, Config&, Config&) {}

}  // namespace

void check_rules(const Given& given, const Config& config, Problems& problems) {
  check_model(given, config, problems);
  check_pipeline(given, config, problems);
  check_precision(given, config, problems);
  check_data(given, config, problems);
  check_optimizer(given, config, problems);
  check_rates(given, config, problems);
  check_init(given, config, problems);
  check_stability(given, config, problems);
  check_lr_schedule(given, config, problems);
}

std::vector<std::string> unused_keys(const Given& given, const Config& config) {
  Config chosen = config;
  std::vector<std::string> notes;
  for (const Key& key : keys()) {
    const Value* value = setting_of_user(given, key.path);
    if (!value || !is_unused(key, chosen)) continue;
    const std::string now = write_field(*find_key(key.of), chosen);
    notes.push_back(fmt::format(
        "{}: {} has no effect {} (it is for {})", value->place.text(), key.path,
        now.empty() ? fmt::format("without {}", key.of) : fmt::format("with {} = {}", key.of, now),
        fmt::join(key.only, ", ")));
  }
  const Value* sentences = setting_of_user(given, "data.batch_size");
  if (sentences && config.data.kind == DataKind::ParallelText && config.data.batch_tokens > 0)
    notes.push_back(
        fmt::format("{}: data.batch_size has no effect with data.batch_tokens = {}, except for "
                    "--overfit-one-batch (write batch_tokens = 0 to count sentences)",
                    sentences->place.text(), config.data.batch_tokens));
  const Value* patience = setting_of_user(given, "validation.early_stopping");
  if (patience && config.validation.early_stopping > 0 && !validates_in_training(config.validation))
    notes.push_back(fmt::format(
        "{}: validation.early_stopping has no effect with validation.every_epochs = 0 and "
        "every_steps = 0 (write every_epochs = 1 to validate after every epoch)",
        patience->place.text()));
  return notes;
}

std::vector<std::string> degenerate_keys(const Given& given, const Config& config) {
  const PipelineConfig& pipeline = config.pipeline;
  if (pipeline.automatic || has_own_order(pipeline) || pipeline.stages == 1) return {};
  if (require_schedule(pipeline.schedule).parts != Parts::VirtualStages) return {};
  if (pipeline.virtual_stages > 1) return {};
  const Value* written = setting_of_user(given, "pipeline.virtual_stages");
  if (!written) written = setting_of_user(given, "pipeline.schedule");
  if (!written) return {};
  return {fmt::format(
      "{}: pipeline.schedule = \"{}\" with virtual_stages = 1 is 1f1b with warmup = \"double\"; "
      "write virtual_stages = 2 or more",
      written->place.text(), pipeline.schedule)};
}

void reset_unused(Config& config) {
  Config defaults;
  for (const Key& key : keys())
    if (is_unused(key, config))
      std::visit([&](const auto& field) { reset(field, config, defaults); }, key.field);
  if (!validates_in_training(config.validation)) config.validation.early_stopping = 0;
}

}  // namespace pipetrain::config
