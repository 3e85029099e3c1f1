// Loss and metrics of trained weights on the validation data; without any, on the training data.
#include <spdlog/fmt/fmt.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "app/run_directory.hpp"
#include "app/session.hpp"
#include "app/verbs.hpp"
#include "config/read.hpp"

namespace pipetrain {

int eval(const Options& options) {
  const Config config = read_config(options.configs, options.sets).config;
  const Graph graph = load_graph(config);
  const std::filesystem::path weights =
      options.model.empty() ? run_directory(options, config) / "model.safetensors" : options.model;
  const NamedTensors parameters = read_parameters(weights, graph);
  const Datasets data = open_datasets(config.data, graph, config.training.seed);
  const Dataset& dataset = data.validation ? *data.validation : *data.train;
  const Plan plan = make_plan(graph, config.pipeline);
  const std::unique_ptr<Backend> backend = make_backend(config.hardware.backend);
  Pipeline pipeline({.graph = graph,
                     .plan = plan,
                     .config = config,
                     .backend = *backend,
                     .validation_samples = dataset.size()});
  pipeline.set_parameters(parameters);
  const Evaluation e = evaluate(pipeline, dataset);
  const char* const part = data.validation ? "validation" : "train";
  nlohmann::ordered_json result = {
      {"model", weights.string()}, {"data", part}, {"samples", e.samples}, {"loss", e.loss}};
  if (dataset.classes() > 0) result["accuracy"] = e.accuracy;
  if (options.json) {
    std::cout << result.dump(2) << std::endl;
    return 0;
  }
  fmt::print("{} on {} {} samples: loss {:.6f}", weights.string(), e.samples, part, e.loss);
  if (dataset.classes() > 0) fmt::print(", accuracy {:.2f}%", 100 * e.accuracy);
  fmt::print("\n");
  return 0;
}

}  // namespace pipetrain
