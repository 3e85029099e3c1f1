#include "stage/optimizer.hpp"

#include <algorithm>

#include "base/bytes_of.hpp"
#include "base/check.hpp"
#include "graph/graph.hpp"

namespace pipetrain {
namespace {

UpdateRule rule_of(const OptimizerConfig& config) {
  UpdateRule rule;
  rule.kind = config.kind == OptimizerKind::Adam    ? UpdateRule::Kind::Adam
              : config.kind == OptimizerKind::AdamW ? UpdateRule::Kind::AdamW
                                                    : UpdateRule::Kind::Sgd;
  rule.momentum = config.momentum;
  rule.weight_decay = config.weight_decay;
  rule.beta1 = config.beta1;
  rule.beta2 = config.beta2;
  rule.eps = config.eps;
  rule.nesterov = config.nesterov;
  return rule;
}

// Recipes for Transformers leave out biases and the weights of normalisations.
bool decays(const OptimizerConfig& config, const Parameter& parameter) {
  return config.decay == Decayed::All || parameter.shape.dims.size() >= 2;
}

}  // namespace

StageOptimizer::StageOptimizer(Stream& stream, const OptimizerConfig& config,
                               const DeltaRule& delta, const WeightStore& weights,
                               std::span<const Layer> layers, const StageTies& ties,
                               StageMemory& memory)
    : stream_(stream),
      config_(config),
      delta_(delta),
      ties_(ties),
      gradients_(layers.size()),
      done_(layers.size(), false),
      whole_(layers.size(), true) {
  const int kept = moments(config);
  const auto take = [&](Use use, std::size_t elements) {
    return reinterpret_cast<float*>(memory.take(use, elements * sizeof(float)));
  };
  for (int l = 0; l < static_cast<int>(layers.size()); ++l) {
    const Layer& layer = layers[l];
    for (int p = 0; p < weights.parameters(l); ++p) {
      const std::size_t elements = weights.elements(l, p);
      Item item{.layer = l,
                .parameter = p,
                .decays = decays(config, layer.parameters[p]),
                .trained = layer.parameters[p].trained,
                .lr_factor = layer.parameters[p].lr_factor,
                .elements = static_cast<std::int64_t>(elements),
                .gradient = layer.trains() ? take(Use::Gradients, elements) : nullptr};
      if (!item.trained) {
        whole_[l] = false;
        gradients_[l].push_back(item.gradient);
        items_.push_back(item);
        continue;
      }
      if (kept > 0) item.first_moment = take(Use::Optimizer, elements);
      if (kept > 1) item.second_moment = take(Use::Optimizer, elements);
      if (delta.keeps) item.delta = take(Use::Optimizer, elements);
      gradients_[l].push_back(item.gradient);
      items_.push_back(item);
    }
  }
  fused_rules_.reserve(items_.size());
  fused_arguments_.reserve(items_.size());
}

const StageOptimizer::Item& StageOptimizer::item(int layer, int parameter) const {
  const auto item = std::ranges::find_if(
      items_, [&](const Item& i) { return i.layer == layer && i.parameter == parameter; });
  PIPETRAIN_CHECK(item != items_.end(), "layer {} has no parameter {}", layer, parameter);
  return *item;
}

float* StageOptimizer::delta(int layer, int parameter) const {
  return item(layer, parameter).delta;
}

float* StageOptimizer::moment(int layer, int parameter, int which) const {
  const Item& of = item(layer, parameter);
  float* const moment = which == 0 ? of.first_moment : of.second_moment;
  PIPETRAIN_CHECK(moment, "the rule keeps no moment {}", which);
  return moment;
}

std::span<float> StageOptimizer::gradient(int parameter) const {
  const Item& item = items_[parameter];
  return {item.gradient, item.gradient ? static_cast<std::size_t>(item.elements) : 0};
}

void StageOptimizer::sums_of_squares(std::span<double> sums, Sums which) const {
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (items_[i].trained && (which == Sums::All || ties_.group[i] < 0))
      stream_.sum_of_squares(items_[i].gradient, items_[i].elements, &sums[i]);
}

UpdateRule StageOptimizer::rule(const Item& item, const Moment& now) const {
  UpdateRule rule = rule_of(config_);
  if (!item.decays) rule.weight_decay = 0;
  rule.lr = now.lr * item.lr_factor;
  rule.gradient_scale = now.gradient_scale;
  rule.step = now.step;
  rule.delta_decay = delta_.decay;
  rule.correction = delta_.correction;
  return rule;
}

UpdateArguments StageOptimizer::arguments(const Item& item, WeightStore& weights,
                                          double* sum) const {
  return {.elements = item.elements,
          .weights = weights.parameter(item.layer, item.parameter),
          .new_weights = weights.next_parameter(item.layer, item.parameter),
          .gradient = item.gradient,
          .first_moment = item.first_moment,
          .second_moment = item.second_moment,
          .sum_of_squares = sum,
          .delta = keeps_up_delta_ ? item.delta : nullptr,
          .corrected = keeps_up_delta_ && delta_.correction != 0
                           ? weights.mixed_parameter(item.layer, item.parameter)
                           : nullptr};
}

void StageOptimizer::apply(WeightStore& weights, const StageUpdate& update, LayerWatch* watch) {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (done_[items_[i].layer]) continue;
    if (!items_[i].trained) {
      keep(items_[i], weights);
      continue;
    }
    const int group = ties_.group[i];
    const UpdateTerms& terms = group < 0 ? update.own : update.tied[group];
    const bool sums = !update.sums.empty() && ties_.counts[i];
    watched(watch, stream_, LayerWork::Update, items_[i].layer, [&] {
      if (terms.skip)
        skip(items_[i], weights);
      else
        stream_.apply(rule(items_[i], {terms.lr, terms.gradient_scale, update.step}),
                      arguments(items_[i], weights, sums ? &update.sums[i] : nullptr));
    });
  }
  done_.assign(done_.size(), false);
}

const FusedUpdate* StageOptimizer::fused(WeightStore& weights, int layer, double lr,
                                         std::int64_t step, std::span<double> sums) {
  if (config_.kind != OptimizerKind::Sgd || (delta_.keeps && keeps_up_delta_) ||
      ties_.layer[layer] || done_[layer] || !whole_[layer])
    return nullptr;
  fused_rules_.clear();
  fused_arguments_.clear();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].layer != layer) continue;
    fused_rules_.push_back(rule(items_[i], {.lr = lr, .step = step}));
    fused_arguments_.push_back(arguments(items_[i], weights, &sums[i]));
  }
  fused_ = {fused_rules_, fused_arguments_};
  done_[layer] = true;
  return &fused_;
}

void StageOptimizer::skip(const Item& item, WeightStore& weights) const {
  if (item.delta && keeps_up_delta_)  // an update that moves nothing
    stream_.combine({.elements = item.elements,
                     .result = item.delta,
                     .a = delta_.decay,
                     .x = item.delta,
                     .y = item.delta});
  if (weights.copies() == 1) return;
  stream_.copy(weights.next_parameter(item.layer, item.parameter),
               weights.parameter(item.layer, item.parameter), bytes_of<float>(item.elements));
}

// For an untrained parameter of a layer that is otherwise trained: each version has its own copy.
void StageOptimizer::keep(const Item& item, WeightStore& weights) const {
  if (!item.gradient) return;
  const float* const live = weights.parameter(item.layer, item.parameter);
  if (weights.copies() > 1)
    stream_.copy(weights.next_parameter(item.layer, item.parameter), live,
                 bytes_of<float>(item.elements));
  if (keeps_up_delta_ && delta_.correction != 0)
    stream_.copy(weights.mixed_parameter(item.layer, item.parameter), live,
                 bytes_of<float>(item.elements));
}

StageTies stage_ties(const Graph& graph, LayerId first, LayerId last) {
  const std::vector<std::vector<Tie>> groups = trained_groups(graph);
  StageTies ties;
  for (LayerId l = first; l <= last; ++l.value) {
    const Layer& layer = graph.layers[l];
    bool tied = false;
    for (int p = 0; p < std::ssize(layer.parameters); ++p) {
      const auto group = std::ranges::find_if(groups, [&](const std::vector<Tie>& uses) {
        return std::ranges::find(uses, Tie{l, p}) != uses.end();
      });
      ties.group.push_back(group == groups.end() ? -1 : static_cast<int>(group - groups.begin()));
      ties.counts.push_back(group == groups.end() || (*group)[0] == Tie{l, p});
      tied = tied || group != groups.end();
    }
    ties.layer.push_back(tied);
  }
  return ties;
}

}  // namespace pipetrain
