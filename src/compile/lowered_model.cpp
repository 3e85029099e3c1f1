#include "compile/lowered_model.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "compile/pipeline_threads.hpp"
#include "graph/graph.hpp"
#include "graph/lengths.hpp"

namespace pipetrain {

LoweredModel::LoweredModel(const Graph& graph, std::unique_ptr<const Lowering> lowering)
    : graph_(graph), lowering_(std::move(lowering)) {}
LoweredModel::LoweredModel(LoweredModel&& other) noexcept = default;
LoweredModel::~LoweredModel() = default;

void LoweredModel::add(Backend& backend, const Lengths& lengths, const LowerOptions& options) {
  if (lengths == Lengths{} || find(lengths)) return;
  auto graph = std::make_unique<const Graph>(with_lengths(graph_, lengths));
  auto lowering = backend.lower(*graph, options);
  forms_.push_back({lengths, std::move(graph), std::move(lowering)});
  check_parameters(forms_.back());
}

void LoweredModel::check_parameters(const Form& form) const {
  for (int l = 0; l < std::ssize(graph_.layers); ++l) {
    const Layer& layer = graph_.layers[l];
    for (int p = 0; p < std::ssize(layer.parameters); ++p)
      PIPETRAIN_CHECK(form.lowering->parameter_bytes({l}, p) == lowering_->parameter_bytes({l}, p),
                      "{} is stored otherwise at other lengths", layer.parameters[p].name);
    for (const Pass pass : {Pass::Forward, Pass::Backward})
      PIPETRAIN_CHECK(form.lowering->packed_bytes({l}, pass) == lowering_->packed_bytes({l}, pass),
                      "{} is packed otherwise at other lengths", layer.name);
  }
}

const LoweredModel::Form* LoweredModel::find(const Lengths& lengths) const {
  const auto form = std::ranges::find(forms_, lengths, &Form::lengths);
  return form == forms_.end() ? nullptr : &*form;
}

const Graph& LoweredModel::graph(const Lengths& lengths) const {
  if (lengths == Lengths{}) return graph_;
  const Form* const form = find(lengths);
  PIPETRAIN_CHECK(form, "no graph for lengths {} and {}", lengths.source, lengths.target);
  return *form->graph;
}

const Lowering& LoweredModel::lowering(const Lengths& lengths) const {
  if (lengths == Lengths{}) return *lowering_;
  const Form* const form = find(lengths);
  PIPETRAIN_CHECK(form, "no lowering for lengths {} and {}", lengths.source, lengths.target);
  return *form->lowering;
}

LoweredModel lower_for(const PipelineInput& input, std::span<const MicrobatchSize> sizes,
                       bool recomputes) {
  const Config& config = input.config;
  set_kernel_threads(threads_for(input.config, input.ranks).threads_per_stage);
  const auto microbatch =
      sample_part(static_cast<int>(config.data.batch_size), config.pipeline.microbatches, 0);
  LowerOptions options{.samples = microbatch.count,
                       .recomputes = recomputes ||
                                     config.pipeline.recompute.rule == Recompute::Stage ||
                                     config.pipeline.recompute.rule == Recompute::Segments ||
                                     config.pipeline.gradient_rule != GradientRule::Saved,
                       .precision = config.training.precision};
  LoweredModel model(input.graph, input.backend.lower(input.graph, options));
  for (const MicrobatchSize& size : sizes) {
    options.samples = size.samples;
    model.add(input.backend, size.lengths, options);
  }
  return model;
}

}  // namespace pipetrain
