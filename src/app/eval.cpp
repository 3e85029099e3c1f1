// Loss and metrics of trained weights on the validation data; without any, on the training data.
#include <spdlog/spdlog.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "app/rank.hpp"
#include "app/run_argument.hpp"
#include "app/verbs.hpp"
#include "base/error.hpp"
#include "base/input_file.hpp"
#include "checkpoint/load.hpp"
#include "config/read.hpp"
#include "run/bleu_score.hpp"
#include "run/class_names.hpp"
#include "run/session.hpp"
#include "run/trained.hpp"

namespace pipetrain {
namespace {

// Text is read by the vocabulary that the weights were trained with; where files of their own
// validate, the training text is not needed any more.
void find_text(Config& config, const std::filesystem::path& weights) {
  DataConfig& data = config.data;
  if (data.kind == DataKind::ParallelText && data.pieces.empty())
    data.pieces = pieces_beside(weights).value_or("");
  if (data.kind != DataKind::Text) return;
  if (const auto beside = vocabulary_beside(weights); beside && data.vocabulary.empty())
    data.vocabulary = *beside;
  if (data.validation_text.empty() || is_there(data.train_text)) return;
  data.train_text = data.validation_text;
  data.drop_last = false;
}

}  // namespace

int eval(const Options& given) {
  require_alone("eval");
  const Options options = with_run_directory(given);
  ReadConfig read = read_config(options.configs, options.sets);
  const Config& config = read.config;
  for (const std::string& note : read.notes) spdlog::info("{}", note);
  const Graph graph = load_graph(read);
  const std::filesystem::path weights = weights_to_read(options, config);
  const NamedTensors parameters = read_weights(weights, graph);
  find_text(read.config, weights);
  const Datasets data = load_datasets(read, graph);
  check_class_names(weights, data.class_names, config.data.train_folder);
  const Dataset& dataset = data.validation ? *data.validation : *data.train;
  const std::unique_ptr<Backend> backend =
      make_backend(config.hardware.backend, config.hardware.devices);
  const Plan plan = load_plan(read, graph, *backend);
  Pipeline pipeline(
      {.graph = graph,
       .plan = plan,
       .config = config,
       .backend = *backend,
       .sizes = {.train = {}, .validation = dataset.order(evaluation_order(config))->sizes()}});
  pipeline.set_parameters(parameters);
  Evaluation e = evaluate(pipeline, dataset, config);
  if (const auto bleu = bleu_score({graph, config, data, *backend})) e.bleu = bleu->of(parameters);
  const char* const part = data.validation ? "validation" : "train";
  if (options.json) {
    nlohmann::ordered_json result = {
        {"model", weights.string()}, {"data", part}, {"samples", e.samples}, {"loss", e.loss}};
    if (e.perplexity) result["perplexity"] = *e.perplexity;
    if (dataset.classes() > 0) result["accuracy"] = e.accuracy;
    if (e.top5) result["top5"] = *e.top5;
    if (e.bleu) result["bleu"] = *e.bleu;
    if (!data.class_names.empty())
      result["classes"] = nlohmann::json::parse(class_names_json(data.class_names));
    std::cout << result.dump(2) << std::endl;
  } else {
    std::cout << fmt::format("{} on the {} data: {}\n", weights.string(), part,
                             text_of(e, dataset));
    if (!data.class_names.empty()) std::cout << class_names_text(data.class_names) << '\n';
  }
  return 0;
}

}  // namespace pipetrain
