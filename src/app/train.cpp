// The main path: from a config to trained weights. Read this first.
//
//   config ─> graph ─> data ─> plan ─> pipeline ─> segments of mini-batches ─> model.safetensors
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/build_info.hpp"
#include "app/report.hpp"
#include "app/run_directory.hpp"
#include "app/session.hpp"
#include "app/verbs.hpp"
#include "base/error.hpp"
#include "config/read.hpp"
#include "data/formats.hpp"
#include "metrics/console.hpp"
#include "metrics/jsonl.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

using nlohmann::ordered_json;

// What --dry-run --json tells, and the first half of what a finished run tells. UsageError where a
// stage does not fit in hardware.memory_limit.
ordered_json plan_report(const Graph& graph, const Plan& plan, const PipelineInput& input) {
  ordered_json report = {{"model", graph.name},
                         {"parameters", graph.parameter_count()},
                         {"stages", plan_json(graph, plan)["stages"]}};
  const std::int64_t limit = input.config.hardware.memory_limit;
  for (const MemoryAccount& account : predict_memory(input)) {
    const auto bytes = static_cast<std::int64_t>(account.total());
    if (limit > 0 && bytes > limit)
      throw UsageError(
          fmt::format("stage {} needs {} and hardware.memory_limit is {}; use more stages, smaller "
                      "micro-batches "
                      "(pipeline.microbatches), or a larger limit",
                      report["memory_bytes"].size(), bytes_text(account.total()),
                      bytes_text(static_cast<std::size_t>(limit))));
    report["memory_bytes"].push_back(bytes);
  }
  return report;
}

Datasets open_training_data(const Config& config, const Graph& graph, bool one_batch) {
  Datasets data = open_datasets(config.data, graph, config.training.seed);
  if (one_batch) data.train = slice(std::move(data.train), {0, config.data.batch_size});
  return data;
}

ConsoleOptions console_options(const Options& options, const Config& config,
                               const TrainingLength& length) {
  std::FILE* const out = options.json ? stderr : stdout;
  return {.out = out,
          .quiet = options.quiet,
          .terminal = isatty(fileno(out)) != 0,
          .log_every_steps = config.metrics.log_every_steps,
          .total_steps = length.steps};
}

ordered_json start_event(const Config& config, const Graph& graph, const TrainingLength& length) {
  return {{"event", "start"},
          {"config", config.name},
          {"model", graph.name},
          {"parameters", graph.parameter_count()},
          {"schedule", config.pipeline.schedule},
          {"stages", config.pipeline.stages},
          {"microbatches", config.pipeline.microbatches},
          {"steps", length.steps},
          {"steps_per_epoch", length.steps_per_epoch}};
}

std::string end_text(const ordered_json& end, const std::filesystem::path& folder) {
  return fmt::format("trained {} steps in {:.1f} s; weights in {}", end["step"].get<std::int64_t>(),
                     end["seconds"].get<double>(), (folder / "model.safetensors").string());
}

// One training from its first to its last mini-batch.
class Training {
 public:
  Training(const Config& config, const Graph& graph, const Datasets& data, Pipeline& pipeline,
           const TrainingLength& length, MetricsFile& metrics, Console& console)
      : config_(config),
        data_(data),
        pipeline_(pipeline),
        length_(length),
        metrics_(metrics),
        console_(console),
        reporter_(graph, length, pipeline.memory()) {}

  void run() {
    Loader loader(*data_.train,
                  {.batch_size = config_.data.batch_size,
                   .shuffle = config_.data.shuffle,
                   .drop_last = config_.data.drop_last,
                   .seed = config_.training.seed,
                   .depth = pipeline_.loader_depth(),
                   .reader_threads = pipeline_.reader_threads()},
                  pipeline_.loader_readers());
    if (config_.validation.before_first_step) validate(0);
    for (std::int64_t step = 0; step < length_.steps;) {
      const std::int64_t end = segment_end(config_, length_, step);
      reporter_.begin_segment();
      pipeline_.train(loader, step, end - step, [&](const StepRecord& record) { report(record); });
      step = end;
      if (validates()) validate(step);
    }
    console_.end();
  }

  ordered_json end_event() const {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started_;
    ordered_json event = {{"event", "end"}, {"step", length_.steps}, {"seconds", seconds.count()}};
    if (last_step_) event["loss"] = last_step_->loss;
    if (last_validation_) event["validation"] = *last_validation_;
    return event;
  }

 private:
  bool validates() const {
    return config_.validation.every_steps > 0 || config_.validation.every_epochs > 0;
  }

  void report(const StepRecord& record) {
    last_step_ = reporter_.summarize(record);
    metrics_.write(step_event(*last_step_));
    console_.step(*last_step_);
  }

  void validate(std::int64_t step) {
    if (!data_.validation) return;
    const Evaluation e = evaluate(pipeline_, *data_.validation);
    const std::int64_t epoch = (step + length_.steps_per_epoch - 1) / length_.steps_per_epoch;
    ordered_json event = {
        {"event", "validation"}, {"step", step}, {"epoch", epoch}, {"loss", e.loss}};
    std::string text = fmt::format("validation after step {}: loss {:.4f}", step, e.loss);
    if (data_.validation->classes() > 0) {
      event["accuracy"] = e.accuracy;
      text += fmt::format(", accuracy {:.2f}% of {}", 100 * e.accuracy, e.samples);
    }
    metrics_.write(event);
    console_.line(text);
    event.erase("event");
    last_validation_ = event;
  }

  const Config& config_;
  const Datasets& data_;
  Pipeline& pipeline_;
  TrainingLength length_;
  MetricsFile& metrics_;
  Console& console_;
  StepReporter reporter_;
  std::optional<StepSummary> last_step_;
  std::optional<ordered_json> last_validation_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

void write_run_files(const std::filesystem::path& folder, const Config& config, const Graph& graph,
                     const Plan& plan, const Pipeline& pipeline) {
  write_file(folder / "config.resolved.toml", dump_config(config, false));
  write_file(folder / "build.json", build_info().dump(2) + "\n");
  write_file(folder / "plan.json", plan_json(graph, plan).dump(2) + "\n");
  write_file(folder / "program.txt", to_text(pipeline.program()));
}

}  // namespace

int train(const Options& options) {
  const auto [config, notes] = read_config(options.configs, options.sets);
  for (const std::string& note : notes) spdlog::info("{}", note);
  const std::filesystem::path folder = run_directory(options, config);
  if (!options.dry_run && check_earlier_run(folder, options, config) == Earlier::Finished) {
    spdlog::info("{}: this run has finished; nothing to do (--resume never starts it anew)",
                 folder.string());
    return 0;
  }
  const Graph graph = load_graph(config);
  const Datasets data = open_training_data(config, graph, options.overfit_one_batch);
  const Plan plan = make_plan(graph, config.pipeline);
  const TrainingLength length = training_length(config, *data.train);
  const std::unique_ptr<Backend> backend = make_backend(config.hardware.backend);
  const PipelineInput input = pipeline_input(config, graph, plan, *backend, data, length);

  Console console(console_options(options, config, length));
  console.line(plan_text(graph, plan));
  ordered_json result = plan_report(graph, plan, input);
  if (!options.dry_run) {
    Pipeline pipeline(input);
    pipeline.set_parameters(first_parameters(config, graph));
    make_folder(folder);
    std::filesystem::remove(folder / "model.safetensors");
    write_run_files(folder, config, graph, plan, pipeline);
    MetricsFile metrics(folder / "metrics.jsonl");
    Training training(config, graph, data, pipeline, length, metrics, console);
    metrics.write(start_event(config, graph, length));
    training.run();
    write_parameters(folder / "model.safetensors", pipeline.parameters());
    const ordered_json end = training.end_event();
    metrics.write(end);
    console.line(end_text(end, folder));
    result.update(end);
    result["output"] = folder.string();
  }
  if (options.json) std::cout << result.dump(2) << std::endl;
  return 0;
}

}  // namespace pipetrain
