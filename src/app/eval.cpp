// Loss and metrics of trained weights on the validation data; without any, on the training data.
#include <spdlog/spdlog.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "app/run_directory.hpp"
#include "app/session.hpp"
#include "app/verbs.hpp"
#include "base/error.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/load.hpp"
#include "config/read.hpp"

namespace pipetrain {
namespace {

// --model, else what the run wrote: its final weights or its newest checkpoint; else what the
// config begins with.
std::filesystem::path weights_to_read(const Options& options, const Config& config) {
  if (!options.model.empty()) return options.model;
  const std::filesystem::path trained = run_directory(options, config) / "model.safetensors";
  if (std::filesystem::exists(trained)) return trained;
  const std::filesystem::path checkpoints = trained.parent_path() / "checkpoints";
  if (!committed_checkpoints(checkpoints).empty()) return find_checkpoint(checkpoints);
  if (options.output.empty() && !config.model.init.empty()) return config.model.init;
  throw DataError(fmt::format(
      "{}: there are no trained weights; train first, or name a file with --model, or the run's "
      "folder with --output",
      trained.string()));
}

}  // namespace

int eval(const Options& options) {
  const ReadConfig read = read_config(options.configs, options.sets);
  const Config& config = read.config;
  for (const std::string& note : read.notes) spdlog::info("{}", note);
  const Graph graph = load_graph(read);
  const std::filesystem::path weights = weights_to_read(options, config);
  const NamedTensors parameters = read_weights(weights, graph);
  const Datasets data = load_datasets(read, graph);
  const Dataset& dataset = data.validation ? *data.validation : *data.train;
  const Plan plan = load_plan(read, graph);
  const std::unique_ptr<Backend> backend =
      make_backend(config.hardware.backend, config.hardware.devices);
  Pipeline pipeline({.graph = graph,
                     .plan = plan,
                     .config = config,
                     .backend = *backend,
                     .validation_samples = dataset.size()});
  pipeline.set_parameters(parameters);
  const Evaluation e = evaluate(pipeline, dataset);
  const char* const part = data.validation ? "validation" : "train";
  if (options.json) {
    nlohmann::ordered_json result = {
        {"model", weights.string()}, {"data", part}, {"samples", e.samples}, {"loss", e.loss}};
    if (dataset.classes() > 0) result["accuracy"] = e.accuracy;
    if (e.top5) result["top5"] = *e.top5;
    std::cout << result.dump(2) << std::endl;
  } else {
    std::cout << fmt::format("{} on the {} data: {}\n", weights.string(), part,
                             text_of(e, dataset));
  }
  return 0;
}

}  // namespace pipetrain
