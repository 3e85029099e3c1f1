// Loss and metrics of trained weights on the validation data or, if there is none, on the training
// data.
#include <spdlog/spdlog.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "app/rank.hpp"
#include "app/rank_identity.hpp"
#include "app/run_argument.hpp"
#include "app/verbs.hpp"
#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/json_text.hpp"
#include "checkpoint/load.hpp"
#include "config/read.hpp"
#include "graph/graph.hpp"
#include "run/bleu_score.hpp"
#include "run/class_names.hpp"
#include "run/rank_data.hpp"
#include "run/session.hpp"
#include "run/trained.hpp"

namespace pipetrain {
namespace {

// Text is read with the vocabulary with which the weights were trained; if there is a validation
// file, the training text is no longer needed.
void find_text(Config& config, const std::filesystem::path& weights) {
  DataConfig& data = config.data;
  if (data.kind == DataKind::ParallelText && data.pieces.empty())
    data.pieces = pieces_beside(weights).value_or("");
  if (data.kind == DataKind::ParallelText && !data.pieces.empty() &&
      !data.validation_source.empty() && !is_there(data.train_source)) {
    data.train_source = data.validation_source;
    data.train_target = data.validation_target;
    data.train_range.reset();
  }
  if (data.kind != DataKind::Text) return;
  if (const auto beside = vocabulary_beside(weights); beside && data.vocabulary.empty())
    data.vocabulary = *beside;
  if (data.validation_text.empty() || is_there(data.train_text)) return;
  data.train_text = data.validation_text;
  data.train_range.reset();
  data.drop_last = false;
}

const Dataset& evaluated(const Datasets& data) {
  return data.validation ? *data.validation : *data.train;
}

DataFacts eval_facts(const Config& config, const Datasets& data) {
  const auto order = evaluated(data).order(evaluation_order(config));
  return {{.steps_per_epoch = order->steps_per_epoch(), .steps = 0},
          {.train = {}, .validation = order->sizes()}};
}

CompiledPipeline compile_eval(const ReadConfig& read, const Graph& graph, const Plan& plan,
                              Backend& backend, const DataFacts& facts, const Ranks& ranks) {
  return placed(read, [&] {
    return compile_pipeline({.graph = graph,
                             .plan = plan,
                             .config = read.config,
                             .backend = backend,
                             .sizes = facts.sizes,
                             .ranks = ranks});
  });
}

void print_evaluation(const Options& options, const std::filesystem::path& weights,
                      const Datasets& data, const Evaluation& e) {
  const Dataset& dataset = evaluated(data);
  if (!options.json) {
    std::cout << fmt::format("{} on the {} data: {}\n", weights.string(),
                             data.validation ? "validation" : "training", text_of(e, dataset));
    if (!data.class_names.empty()) std::cout << class_names_text(data.class_names) << '\n';
    return;
  }
  nlohmann::ordered_json result = {{"model", weights.string()},
                                   {"data", data.validation ? "validation" : "train"},
                                   {"samples", e.samples},
                                   {"loss", e.loss}};
  if (e.perplexity) result["perplexity"] = *e.perplexity;
  if (dataset.classes() > 0) result["accuracy"] = e.accuracy;
  if (e.top5) result["top5"] = *e.top5;
  if (e.bleu) result["bleu"] = *e.bleu;
  if (!data.class_names.empty())
    result["classes"] = nlohmann::json::parse(class_names_json(data.class_names));
  std::cout << json_text(result) << std::endl;
}

// On a single process, or as rank 0 of a job.
int lead_eval(const Options& options, Job* job) {
  ReadConfig read = read_config(options.configs, options.sets);
  const Config& config = read.config;
  const Config asked = config;
  for (const std::string& note : read.notes) spdlog::info("{}", note);
  const Ranks ranks = ranks_of(job, config);
  const Graph graph = load_graph(read);
  const std::filesystem::path weights = weights_to_read(options, config);
  const NamedTensors parameters = read_weights(weights, graph);
  find_text(read.config, weights);
  const Datasets data = load_datasets(read, graph);
  check_class_names(weights, data.class_names, config.data.train_folder);
  if (!data.validation)
    spdlog::warn("[data] has no validation samples: eval measures the training data");
  const DataFacts facts = eval_facts(config, data);
  if (job) send_data_facts(*job, facts);
  const std::unique_ptr<Backend> backend = backend_of(config, ranks);
  const Plan plan = load_plan(read, graph, *backend);
  CompiledPipeline compiled = compile_eval(read, graph, plan, *backend, facts, ranks);
  if (job) compare_ranks(*job, asked, facts);
  Pipeline pipeline(std::move(compiled), make_in_process_channel, job);
  pipeline.set_parameters(parameters);
  Evaluation e = evaluate(pipeline, evaluated(data), config);
  if (const auto bleu = bleu_score({graph, config, data, *backend})) e.bleu = bleu->of(parameters);
  print_evaluation(options, weights, data, e);
  return 0;
}

// On other ranks: gets its stages' weights from rank 0.
int follow_eval(const Options& options, Job& job) {
  spdlog::set_level(spdlog::level::off);  // rank 0 prints
  ReadConfig read = read_config(options.configs, options.sets);
  const Config& config = read.config;
  const Config asked = config;
  const Ranks ranks = ranks_of(&job, config);
  const Graph graph = load_graph(read);
  const bool reads = placed(read, [&] { return reads_samples(config, ranks); });
  Datasets data;
  if (reads) {
    find_text(read.config, weights_to_read(options, config));
    data = load_datasets(read, graph);
  }
  const DataFacts facts = reads ? eval_facts(config, data) : take_data_facts(job);
  const std::unique_ptr<Backend> backend = backend_of(config, ranks);
  const Plan plan = load_plan(read, graph, *backend);
  CompiledPipeline compiled = compile_eval(read, graph, plan, *backend, facts, ranks);
  compare_ranks(job, asked, facts);
  Pipeline pipeline(std::move(compiled), make_in_process_channel, &job);
  pipeline.serve({.make_loader = [&](Mode mode, std::int64_t) {
    return std::make_unique<Loader>(evaluated(data), loader_options(pipeline, config, mode),
                                    pipeline.loader_readers(mode));
  }});
  return 0;
}

}  // namespace

int eval(const Options& given) {
  const std::unique_ptr<Job> job = join_job();
  const auto run = [&] {
    const Options options = with_run_directory(given);
    return job && !job->leads() ? follow_eval(options, *job) : lead_eval(options, job.get());
  };
  return job ? run_rank(*job, run) : run();
}

}  // namespace pipetrain
