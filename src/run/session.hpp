// What train, eval and benchmark build first from a config: graph, data, plan, backend, pipeline.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backend/backend.hpp"
#include "base/error.hpp"
#include "config/read.hpp"
#include "data/dataset.hpp"
#include "plan/plan.hpp"
#include "run/options.hpp"
#include "runtime/pipeline.hpp"

namespace pipetrain {

struct Graph;

Graph load_graph(const ReadConfig& read);
// Returns make(); to a UsageError that begins with a key it adds the place where the key was
// written.
template <class Make>
auto placed(const ReadConfig& read, Make make) {
  try {
    return make();
  } catch (const UsageError& error) {
    throw UsageError(with_place(read, error.what()));
  }
}

Datasets load_datasets(const ReadConfig& read, const Graph& graph);
Plan load_plan(const ReadConfig& read, const Graph& graph, const Backend& backend);

// The initial weights that the config asks for: read from its file, or drawn from the seed.
NamedTensors first_parameters(const Config& config, const Graph& graph);

// What --overfit-one-batch trains: only the first mini-batch, without validation, for
// training.steps steps, or 500 if the length is given in epochs.
Config overfit_one_batch(Config config);

// In mini-batches: one epoch, and the whole training.
struct TrainingLength {
  std::int64_t steps_per_epoch = 1, steps = 1;
};
// Which mini-batches training and evaluation go through.
OrderOptions training_order(const Config& config);
OrderOptions evaluation_order(const Config& config);

// For a loader that feeds the pipeline's runs; `first`: the mini-batch with which training starts.
LoaderOptions loader_options(const Pipeline& pipeline, const Config& config, Mode mode,
                             std::int64_t first = 0);

// UsageError if that is more updates than a Version can count.
TrainingLength training_length(const Config& config, const Dataset& train);

bool asks_for_validation(const Config& config);

// Of the data with which the config trains and validates.
MinibatchSizes minibatch_sizes(const Config& config, const Datasets& data);
PipelineInput pipeline_input(const Config& config, const Graph& graph, const Plan& plan,
                             Backend& backend, const Datasets& data, const TrainingLength& length);

// Where the first validation or checkpoint after `step` that the config asks for closes a segment;
// at the latest, the end of training, and 2^30 micro-batches after `step`.
std::int64_t segment_end(const Config& config, const TrainingLength& length, std::int64_t step);

// An order of the user's own drains only after the number of mini-batches that it lists: UsageError
// if the config wants the pipeline drained elsewhere.
void check_segments(const Config& config, const TrainingLength& length);

struct Evaluation {
  double loss = 0;                        // mean over labels; for mse over samples
  double accuracy = 0;                    // 0..1; 0 for mse
  std::optional<double> top5 = {};        // 0..1: the label is among the five largest outputs
  std::optional<double> perplexity = {};  // exp(loss), if tokens are predicted
  std::optional<double> bleu = {};        // 0..100, of translations (run/bleu_score.hpp)
  std::int64_t samples = 0;
};
// Is each token of a sample predicted from those before it?
bool predicts_tokens(const Dataset& dataset);
// What an evaluation reports for tokens; nothing for other data.
std::optional<double> perplexity_of(double loss, const Dataset& dataset);
Evaluation evaluate(Pipeline& pipeline, const Dataset& dataset, const Config& config);
// "loss 0.0423, accuracy 98.75%, top-5 99.95% of 2000 samples"; for text
// "loss 1.8860, perplexity 6.593, accuracy 44.10% of 1742 samples"
std::string text_of(const Evaluation& evaluation, const Dataset& dataset);

}  // namespace pipetrain
