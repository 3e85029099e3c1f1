#include "data/formats.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

const Shape& model_output(const Graph& graph) {
  PIPETRAIN_CHECK(!graph.layers.empty(), "the model {} has no layers", graph.name);
  return graph.layers.back().output;
}

int model_classes(const Graph& graph) {
  if (graph.loss == Loss::Mse) return 0;
  return static_cast<int>(model_output(graph).dims.back());
}

std::int64_t model_labels(const Graph& graph) {
  if (graph.loss == Loss::Mse) return 1;
  return model_output(graph).elements() / model_output(graph).dims.back();
}

void refuse_input_shape(std::string_view source, const Shape& found, const Graph& graph) {
  if (graph.input.vocabulary > 0)
    throw UsageError(
        fmt::format("{}: a sample has shape {}, but the model reads {}; use kind = \"text\" or "
                    "\"tokens\", or a "
                    "model of such samples",
                    source, found.text(), graph.input.text()));
  throw UsageError(
      fmt::format("{}: a sample has shape {}, but the model's input has shape {}; write input = {{ "
                  "shape = {} }} "
                  "in the model, or name data that fits",
                  source, found.text(), graph.input.text(), found.text()));
}

std::vector<std::string> overlap_notes(const DataConfig& config, std::int64_t samples) {
  if (!config.validation_range) return {};
  const SampleRange validation = *config.validation_range,
                    train = config.train_range.value_or(SampleRange{0, samples});
  const std::int64_t first = std::max(validation.first, train.first),
                     last = std::min(validation.last, train.last);
  if (first >= last) return {};
  return {
      fmt::format("data.validation_range = [{}, {}]: samples {} to {} are trained on too; "
                  "write a data.train_range without them",
                  validation.first, validation.last, first, last - 1)};
}

void require_class_loss(std::string_view source, const Graph& graph) {
  if (graph.loss == Loss::CrossEntropy) return;
  throw UsageError(
      fmt::format("{}: the targets are class labels, but the model's loss is mse; write loss = "
                  "\"cross_entropy\" "
                  "in the model, or use kind = \"npy\" with float targets of shape {}",
                  source, model_output(graph).text()));
}

void require_one_label(std::string_view source, const Graph& graph) {
  if (model_labels(graph) == 1) return;
  throw UsageError(
      fmt::format("{}: a sample has one label, but the model's output {} is a prediction for each "
                  "of {} positions; end it in one, such as flatten and a linear layer",
                  source, model_output(graph).text(), model_labels(graph)));
}

void check_label(const std::filesystem::path& file, std::int64_t sample, std::int64_t label,
                 int classes) {
  if (label >= 0 && label < classes) return;
  throw DataError(
      fmt::format("{}: the label of sample {} is {}, but the model has {} outputs: labels are "
                  "0..{}; correct the "
                  "file, or give the last layer more outputs",
                  file.string(), sample, label, classes, classes - 1));
}

void check_counts(const DataFiles& files, std::int64_t inputs, std::int64_t labels) {
  if (inputs != labels)
    throw DataError(fmt::format("{} has {}, but {} has {}; name two files of one set",
                                files.inputs.string(), counted(inputs, "sample"),
                                files.labels.string(), counted(labels, "label")));
  if (inputs == 0)
    throw DataError(fmt::format("{}: there are no samples in it", files.inputs.string()));
}

}  // namespace pipetrain
