#include "run/session.hpp"

#include <spdlog/fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "compile/segment_program.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "own_order.hpp"
#include "run/fine_tuning.hpp"

namespace pipetrain {

namespace {

Graph read_graph(const ReadConfig& read) {
  if (!read.inline_model_file.empty()) return read_inline_model(read.inline_model_file);
  const Config& config = read.config;
  if (!config.inline_model.empty()) {
    try {
      return read_model_text(config.inline_model, config.name);
    } catch (const UsageError& error) {
      throw UsageError(with_model_places(read, error.what()));
    }
  }
  return placed(read, [&] { return read_model(config.model.file); });
}

}  // namespace

Graph load_graph(const ReadConfig& read) {
  Graph graph = read_graph(read);
  placed(read, [&] { choose_trained(read.config, graph); });
  return graph;
}

Datasets load_datasets(const ReadConfig& read, const Graph& graph) {
  return placed(read,
                [&] { return open_datasets(read.config.data, graph, read.config.training.seed); });
}

Plan load_plan(const ReadConfig& read, const Graph& graph, const Backend& backend) {
  const bool bf16 = read.config.training.precision == Precision::Bf16;
  const BackendCosts costs = backend.costs(graph, bf16 ? Precision::Bf16 : Precision::F32);
  return placed(read, [&] { return make_plan(graph, read.config, costs); });
}

NamedTensors first_parameters(const Config& config, const Graph& graph) {
  if (!config.model.init.empty()) {
    std::vector<std::string> fresh;
    NamedTensors values = fine_tuned_parameters(config, graph, fresh);
    if (!fresh.empty())
      spdlog::info("model.init_ignore: not taken from {}: {}",
                   printable(config.model.init.string()), fmt::join(fresh, ", "));
    return values;
  }
  return initial_parameters(graph, config.training.seed);
}

Config overfit_one_batch(Config config) {
  DataConfig& data = config.data;
  if (data.kind == DataKind::ImageFolder)
    throw UsageError(
        "--overfit-one-batch does not pick images from folders; copy data.batch_size of them into "
        "folders of their own, and name these by data.train_folder");
  const bool drawn = data.kind == DataKind::Glyphs || data.kind == DataKind::Synthetic;
  const std::int64_t first = data.train_range ? data.train_range->first : 0;
  if (drawn)
    data.train_samples = std::min(data.train_samples, data.batch_size);
  else if (!data.train_range || data.train_range->last - first > data.batch_size)
    data.train_range = SampleRange{first, first + data.batch_size};
  data.validation_fraction = 0;
  if (config.training.steps == 0) config.training.steps = 500;
  config.training.epochs = 0;
  config.validation = {};
  config.name += "-overfit-one-batch";
  return config;
}

OrderOptions training_order(const Config& config) {
  return {.batch_size = config.data.batch_size,
          .shuffle = config.data.shuffle,
          .drop_last = config.data.drop_last,
          .seed = config.training.seed};
}

OrderOptions evaluation_order(const Config& config) {
  const std::int64_t told = config.validation.batch_size;
  return {
      .batch_size = told > 0 ? told : config.data.batch_size, .shuffle = false, .drop_last = false};
}

LoaderOptions loader_options(const Pipeline& pipeline, const Config& config, Mode mode,
                             std::int64_t first) {
  const bool trains = mode == Mode::Train;
  return {.order = trains ? training_order(config) : evaluation_order(config),
          .repeat = trains,
          .first_step = first,
          .depth = pipeline.loader_depth(mode),
          .inputs = pipeline.reads_inputs(),
          .reader_threads = pipeline.reader_threads(mode)};
}

TrainingLength training_length(const Config& config, const Dataset& train) {
  TrainingLength length;
  length.steps_per_epoch = train.order(training_order(config))->steps_per_epoch();
  length.steps = config.training.steps;
  if (length.steps > 0) return length;
  const std::int64_t epochs = std::max<std::int64_t>(1, config.training.epochs);
  constexpr std::int64_t most = std::numeric_limits<int>::max();  // a Version counts them
  if (epochs > most / length.steps_per_epoch)
    throw UsageError(fmt::format(
        "training.epochs: {} epochs of {} mini-batches are more than {} updates; write {} or less",
        epochs, length.steps_per_epoch, most,
        std::max<std::int64_t>(1, most / length.steps_per_epoch)));
  length.steps = epochs * length.steps_per_epoch;
  return length;
}

bool asks_for_validation(const Config& config) {
  return config.validation.every_steps > 0 || config.validation.every_epochs > 0 ||
         config.validation.before_first_step;
}

MinibatchSizes minibatch_sizes(const Config& config, const Datasets& data) {
  MinibatchSizes sizes;
  if (data.train) sizes.train = data.train->order(training_order(config))->sizes();
  if (data.validation && asks_for_validation(config))
    sizes.validation = data.validation->order(evaluation_order(config))->sizes();
  return sizes;
}

PipelineInput pipeline_input(const Config& config, const Graph& graph, const Plan& plan,
                             Backend& backend, const Datasets& data, const TrainingLength& length) {
  return {.graph = graph,
          .plan = plan,
          .config = config,
          .backend = backend,
          .total_steps = length.steps,
          .sizes = minibatch_sizes(config, data),
          .steps_per_epoch = length.steps_per_epoch};
}

namespace {

// In mini-batches: a MicrobatchId counts the micro-batches of a segment.
std::int64_t longest_segment(const PipelineConfig& pipeline) {
  const std::int64_t program =
      has_own_order(pipeline) ? own_order(pipeline).program.minibatches : 1;
  return std::numeric_limits<int>::max() / 2 / pipeline.microbatches / program * program;
}

// The key that asks in steps for what `key` may ask for in epochs.
std::string in_steps(std::string key) {
  constexpr std::string_view epochs = "epochs";
  return key.ends_with(epochs) ? key.replace(key.size() - epochs.size(), epochs.size(), "steps")
                               : key;
}

}  // namespace

std::int64_t segment_end(const Config& config, const TrainingLength& length, std::int64_t step) {
  std::int64_t end = std::min(length.steps, step + longest_segment(config.pipeline));
  const auto next_multiple = [&](std::int64_t every) {
    if (every > 0) end = std::min(end, (step / every + 1) * every);
  };
  next_multiple(config.validation.every_steps);
  next_multiple(config.validation.every_epochs * length.steps_per_epoch);
  next_multiple(config.checkpoint.every_steps);
  next_multiple(config.checkpoint.every_epochs * length.steps_per_epoch);
  next_multiple(config.stability.every_steps);
  if (const std::int64_t sync = warmup_steps(config, length.steps_per_epoch); step < sync)
    end = std::min(end, sync);
  return end;
}

void check_segments(const Config& config, const TrainingLength& length) {
  if (!has_own_order(config.pipeline)) return;
  const std::int64_t own = own_order(config.pipeline).program.minibatches;
  const std::int64_t epoch = length.steps_per_epoch;
  const auto require_multiple = [&](const std::string& key, std::int64_t steps) {
    if (steps % own == 0) return;
    throw UsageError(fmt::format(
        "pipeline.schedule_csv: {} is an order of {} mini-batches, drained after them, and {} "
        "asks for {} steps; write {} = {}{}",
        schedule_name(config.pipeline), own, key, steps, in_steps(key),
        steps < own ? fmt::format("{}", own)
                    : fmt::format("{} or {}", steps / own * own, (steps / own + 1) * own),
        in_steps(key) == key ? "" : " instead"));
  };
  require_multiple(config.training.steps > 0 ? "training.steps" : "training.epochs", length.steps);
  require_multiple("validation.every_steps", config.validation.every_steps);
  require_multiple("validation.every_epochs", config.validation.every_epochs * epoch);
  require_multiple("checkpoint.every_steps", config.checkpoint.every_steps);
  require_multiple("checkpoint.every_epochs", config.checkpoint.every_epochs * epoch);
  require_multiple("stability.every_steps", config.stability.every_steps);
}

bool predicts_tokens(const Dataset& dataset) {
  return dataset.input_shape().vocabulary > 0 && dataset.classes() > 0 && dataset.labels() > 1;
}

std::optional<double> perplexity_of(double loss, const Dataset& dataset) {
  if (!predicts_tokens(dataset)) return std::nullopt;
  return std::exp(loss);
}

Evaluation evaluate(Pipeline& pipeline, const Dataset& dataset, const Config& config) {
  Loader loader(dataset, loader_options(pipeline, config, Mode::Evaluate),
                pipeline.loader_readers(Mode::Evaluate));
  const EvaluationSum sum = pipeline.evaluate(loader);
  const auto labels = static_cast<double>(sum.labels);
  const double mean = sum.loss / labels, loss = std::isnan(mean) ? std::abs(mean) : mean;
  Evaluation result{.loss = loss,
                    .accuracy = static_cast<double>(sum.correct) / labels,
                    .perplexity = perplexity_of(loss, dataset),
                    .samples = sum.samples};
  // With fewer classes, or for the tokens of a text, the best five say little.
  if (dataset.classes() >= 10 && dataset.labels() == 1)
    result.top5 = static_cast<double>(sum.correct_top5) / labels;
  return result;
}

std::string text_of(const Evaluation& e, const Dataset& dataset) {
  if (dataset.classes() == 0) return fmt::format("loss {:.6f} of {} samples", e.loss, e.samples);
  const std::string perplexity =
      e.perplexity ? fmt::format(", perplexity {:.4g}", *e.perplexity) : "";
  const std::string top5 = e.top5 ? fmt::format(", top-5 {:.2f}%", 100 * *e.top5) : "";
  const std::string bleu = e.bleu ? fmt::format(", BLEU {:.2f}", *e.bleu) : "";
  return fmt::format("loss {:.4f}{}, accuracy {:.2f}%{} of {} samples{}", e.loss, perplexity,
                     100 * e.accuracy, top5, e.samples, bleu);
}

}  // namespace pipetrain
