#include "stage/stage.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes_of.hpp"
#include "base/check.hpp"
#include "compile/parameter_memory.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

Stage::Stage(const StageInput& input)
    : input_(input),
      stream_(input.backend.make_stream(input.stream)),
      memory_(*stream_,
              parameter_memory({input.model.graph(), input.model.lowering(), input.optimizer,
                                input.first, input.last, input.weight_copies, input.mixes_weights,
                                input.delta.keeps, input.statistics_logged})
                  .total()),
      passes_(*stream_),
      weights_({input.model.graph(), input.model.lowering(), *stream_, input.first, input.last,
                input.weight_copies, input.mixes_weights},
               memory_),
      ties_(stage_ties(input.model.graph(), input.first, input.last)),
      optimizer_(*stream_, input.optimizer, input.delta, weights_, own_layers(), ties_, memory_),
      statistics_(*stream_, own_layers(), input.statistics_logged, memory_),
      gradient_started_(layers(), false) {
  std::size_t operands = 1;
  for (int l = 0; l < layers(); ++l) {
    operands = std::max(operands, layer(l).inputs.size());
    buffers_.emplace_back();
    for (const Buffer& b : layer(l).buffers) {
      const std::vector<float> initial(b.shape.elements(), static_cast<float>(b.initial));
      buffers_.back().push_back(memory_.take(Use::Weights, initial.size() * sizeof(float)));
      set_buffer(l, static_cast<int>(buffers_.back().size()) - 1, initial.data());
    }
  }
  operand_inputs_.resize(operands);
  operand_gradients_.resize(operands);
}

void Stage::prepare(std::span<const MicrobatchSize> sizes) {
  for (const MicrobatchSize& size : sizes)
    if (std::ranges::find(compiled_, size, &CompiledStage::size) == compiled_.end())
      add(compile(size));
  lay_out();
}

void Stage::prepare(std::vector<CompiledStage> compiled) {
  for (CompiledStage& each : compiled) add(std::move(each));
  lay_out();
}

void Stage::borrow_workspace(Mode mode, const StageCopy& which, const Stage& lender) {
  needs_of(mode).lender = which;
  passes_.borrow(mode, lender.passes_);
}

void Stage::add(CompiledStage compiled) {
  StageSizes& most = needs_of(compiled.size.mode).each;
  most = largest(most, sizes_of(compiled));
  compiled_.push_back(std::move(compiled));
}

CompiledStage Stage::compile(const MicrobatchSize& size) const {
  return compile_stage({.graph = input_.model.graph(size.lengths),
                        .lowering = input_.model.lowering(size.lengths),
                        .first = input_.first,
                        .last = input_.last,
                        .size = size,
                        .split_backward = input_.split_backward,
                        .recomputes = recomputes(),
                        .recomputed = input_.recomputed.empty() ? nullptr : &input_.recomputed});
}

void Stage::lay_out() {
  for (const Mode mode : {Mode::Train, Mode::Evaluate}) {
    if (std::ranges::none_of(compiled_,
                             [&](const CompiledStage& c) { return c.size.mode == mode; }))
      continue;
    PassNeeds& its = needs_of(mode);
    const bool trains = mode == Mode::Train;
    its.slots = trains ? input_.slots : 0;
    its.input_slots = trains ? input_.input_slots : 0;
    its.packets = input_.packets.own[mode];
    its.received = input_.packets.received;
  }
  passes_.lay_out(needs_);
}

HeldMemory Stage::memory() const {
  HeldMemory held;
  const auto of = [&](Mode mode) { return memory_.account() + needs_[mode].account(); };
  held.training = of(Mode::Train);
  if (std::ranges::any_of(compiled_,
                          [](const CompiledStage& c) { return c.size.mode == Mode::Evaluate; }))
    held.validation = of(Mode::Evaluate);
  return held;
}

CompiledStage& Stage::compiled(const PassCall& call) {
  for (CompiledStage& c : compiled_)
    if (c.size == call.size) return c;
  PIPETRAIN_CHECK(false, "stage {} was not prepared for {} samples", id().value, call.size.samples);
}

Stage::Sent Stage::sent(const MicrobatchSize& size) const {
  const auto found = std::ranges::find(compiled_, size, &CompiledStage::size);
  if (found == compiled_.end()) return {};  // no samples
  return {found->recipe.sent_activations, found->recipe.sent_gradients};
}

Stage::Bases Stage::bases(const PassCall& call) const {
  const Mode mode = call.size.mode;
  return {nullptr,
          call.slot < 0 ? nullptr : passes_.slot(mode, call.slot),
          passes_.workspace(mode),
          call.packet_in,
          call.packet_out,
          call.gradient_in,
          call.gradient_out,
          call.input_slot < 0 ? nullptr : passes_.input_slot(mode, call.input_slot),
          static_cast<std::byte*>(const_cast<void*>(call.input))};  // no step writes there
}

// The next stage owns what the forward sent by now, so a recomputation's outputs are in its slot.
Stage::Bases Stage::recomputed_bases(const CompiledStage& compiled, const PassCall& call) const {
  PassCall mine = call;
  if (recomputes())
    mine.packet_out = passes_.slot(call.size.mode, call.slot) + compiled.recipe.packet_out;
  return bases(mine);
}

namespace {

std::byte* at(const IndexedArray<std::byte*, area_count, Area>& bases, const Place& place) {
  std::byte* const base = bases[place.area];
  return base ? base + place.offset : nullptr;
}

LayerWork work_of(Step::Kind kind, bool adds, bool updates) {
  switch (kind) {
    case Step::Kind::Forward:
      return LayerWork::Forward;
    case Step::Kind::BackwardWeight:
      if (updates) return LayerWork::WeightUpdate;
      return adds ? LayerWork::BackwardWeight : LayerWork::FirstWeight;
    case Step::Kind::Copy:
      return LayerWork::Copy;
    default:
      return LayerWork::BackwardInput;
  }
}

}  // namespace

void Stage::load_input(const PassCall& call) {
  const CompiledStage& c = compiled(call);
  if (c.recipe.input.area == Area::None) return;  // it is read in place
  watched(watch_, *stream_, LayerWork::Load, 0, [&] {
    c.lowering->load_input(*stream_, call.input, call.size.samples,
                           at(bases(call), c.recipe.input));
  });
}

void Stage::forward(const PassCall& call) {
  CompiledStage& c = compiled(call);
  const Bases base = bases(call);
  prepare(call.weights);
  const bool trains = call.size.mode == Mode::Train, notes = trains && statistics_.notes();
  if (notes) statistics_.open(call.random);
  for (const Step& step : c.recipe.forward) run(c, step, base, call, {.notes = notes});
  if (trains && !notes) ++batches_tracked_;
}

const Layer& Stage::layer(int l) const { return graph().layers[input_.first.value + l]; }

std::span<const Layer> Stage::own_layers() const {
  return std::span(graph().layers).subspan(input_.first.value, static_cast<std::size_t>(layers()));
}

void Stage::apply_statistics(const StatisticsLog::Entry& entry, Stream& stream) {
  statistics_.apply(entry, buffers_, stream);
  ++batches_tracked_;
}

void Stage::recompute(const PassCall& call) {
  CompiledStage& c = compiled(call);
  const Bases base = recomputed_bases(c, call);
  prepare(call.weights);
  for (const Step& step : c.recipe.forward) run(c, step, base, call, {.again = true});
}

void Stage::copy_recomputed(const PassCall& call, std::byte* packet) {
  const Recipe& recipe = compiled(call).recipe;
  watched(watch_, *stream_, LayerWork::Copy, layers() - 1, [&] {
    stream_->copy(packet, passes_.slot(call.size.mode, call.slot) + recipe.packet_out,
                  recipe.sent_activations);
  });
}

LossArguments Stage::loss_arguments(const CompiledStage& compiled, const PassCall& call,
                                    const Targets& targets) const {
  return {.stream = stream_.get(),
          .output = at(bases(call), compiled.recipe.output),
          .targets = targets,
          .scratch = passes_.scratch(call.size.mode)};
}

void Stage::loss(const PassCall& call, const Targets& targets, LossResult* result) {
  CompiledStage& c = compiled(call);
  watched(watch_, *stream_, LayerWork::Loss, layers() - 1,
          [&] { c.loss->forward(loss_arguments(c, call, targets), result); });
}

void Stage::loss_gradient(const PassCall& call, const Targets& targets, double scale) {
  CompiledStage& c = compiled(call);
  watched(watch_, *stream_, LayerWork::LossGradient, layers() - 1, [&] {
    c.loss->backward(loss_arguments(c, call, targets), scale,
                     at(bases(call), c.recipe.loss_gradient));
  });
}

void Stage::backward(const PassCall& call, BackwardPart part, const UpdateCall* update) {
  CompiledStage& c = compiled(call);
  const Bases base = recomputed_bases(c, call);
  const std::span<const Step> steps = c.recipe.backward;
  prepare(call.weights);
  const auto run_steps = [&](std::span<const Step> some, const auto& chosen) {
    for (const Step& step : some)
      if (chosen(step.kind == Step::Kind::BackwardWeight))
        run(c, step, base, call, {.update = update, .again = step.kind == Step::Kind::Forward});
  };
  const auto all = [](bool) { return true; };
  switch (part) {
    case BackwardPart::Whole:
      return run_steps(steps, all);
    case BackwardPart::InputHalf:
      return run_steps(steps, [](bool weight) { return !weight; });
    case BackwardPart::WeightHalf:
      return run_steps(steps, [](bool weight) { return weight; });
    case BackwardPart::Head:
      return run_steps(steps.first(c.recipe.head), all);
    case BackwardPart::Tail:
      return run_steps(steps.subspan(c.recipe.head), all);
  }
}

// Weights that no update made are computed once for all layers, and kept for the next read of the
// same weights.
void Stage::prepare(const WeightRead& read) {
  const auto* back = std::get_if<Extrapolate>(&read.how);
  const auto* blend = std::get_if<Blend>(&read.how);
  if ((!back && !blend) || weights_.holds_mixed(read)) return;
  for (int l = 0; l < layers(); ++l)
    for (int p = 0; p < weights_.parameters(l); ++p) {
      if (!layer(l).parameters[p].trained) {
        if (layer(l).trains())
          stream_->copy(weights_.mixed_parameter(l, p), weights_.parameter(read.version, l, p),
                        bytes_of<float>(static_cast<std::int64_t>(weights_.elements(l, p))));
        continue;
      }
      stream_->combine(
          {.elements = static_cast<std::int64_t>(weights_.elements(l, p)),
           .result = weights_.mixed_parameter(l, p),
           .a = blend ? 1 - blend->other_share : 1,
           .b = blend ? blend->other_share : -back->updates,
           .x = weights_.parameter(read.version, l, p),
           .y = blend ? weights_.parameter(blend->other, l, p) : optimizer_.delta(l, p)});
    }
  weights_.set_mixed(read);
}

// A sum of gradients counts for the layer whose output has several readers; if that is in an
// earlier stage, for this stage's first layer.
int Stage::layer_of(const Step& step) const {
  if (step.kind != Step::Kind::Add) return step.layer;
  return std::max(0, step.value.value - 1 - input_.first.value);
}

void Stage::run(CompiledStage& compiled, const Step& step, const Bases& bases, const PassCall& call,
                const RunOptions& options) {
  const FusedUpdate* const update = step.kind == Step::Kind::BackwardWeight
                                        ? fused(compiled, step.layer, options.update)
                                        : nullptr;
  const LayerWork work = work_of(step.kind, gradient_started_[static_cast<std::size_t>(step.layer)],
                                 update != nullptr);
  watched(watch_, *stream_, work, layer_of(step), [&] {
    call_kernel(compiled, step, bases, call, {update, options.again, options.notes});
  });
}

void Stage::call_kernel(CompiledStage& compiled, const Step& step, const Bases& bases,
                        const PassCall& call, const CallOptions& options) {
  const auto l = static_cast<std::size_t>(step.layer);
  for (std::size_t i = 0; i < step.inputs.size(); ++i)
    operand_inputs_[i] = at(bases, step.inputs[i]);
  const std::span<const void* const> inputs(operand_inputs_.data(), step.inputs.size());
  switch (step.kind) {
    case Step::Kind::Forward:
      compiled.kernels[l]->forward(
          {.stream = stream_.get(),
           .inputs = inputs,
           .output = at(bases, step.output),
           .weights = weights_.read(step.layer, Pass::Forward, call.weights),
           .buffers = options.notes ? statistics_.buffers(step.layer) : buffers_[l],
           .again = options.again,
           .saved = at(bases, step.saved),
           .scratch = passes_.scratch(call.size.mode),
           .random = call.random});
      return;
    case Step::Kind::BackwardInput:
      for (std::size_t i = 0; i < step.input_gradients.size(); ++i)
        operand_gradients_[i] = at(bases, step.input_gradients[i]);
      compiled.kernels[l]->backward_input(
          {.stream = stream_.get(),
           .inputs = inputs,
           .output = at(bases, step.output),
           .output_gradient = at(bases, step.output_gradient),
           .input_gradients = {operand_gradients_.data(), step.input_gradients.size()},
           .weights = weights_.read(step.layer, Pass::Backward, call.weights),
           .saved = at(bases, step.saved),
           .scratch = passes_.scratch(call.size.mode),
           .random = call.random});
      return;
    case Step::Kind::BackwardWeight:
      compiled.kernels[l]->backward_weight({.stream = stream_.get(),
                                            .inputs = inputs,
                                            .output_gradient = at(bases, step.output_gradient),
                                            .gradients = optimizer_.gradients(step.layer),
                                            .accumulate = gradient_started_[l],
                                            .update = options.update,
                                            .saved = at(bases, step.saved),
                                            .scratch = passes_.scratch(call.size.mode)});
      gradient_started_[l] = true;
      return;
    case Step::Kind::Add:
      compiled.lowering->add_value(*stream_, step.value, call.size.samples, at(bases, step.output),
                                   operand_inputs_[0]);
      return;
    case Step::Kind::Copy:
      stream_->copy(at(bases, step.output), operand_inputs_[0], step.bytes);
      return;
  }
}

const FusedUpdate* Stage::fused(const CompiledStage& compiled, int layer,
                                const UpdateCall* update) {
  if (!update || !compiled.kernels[layer]->traits().fuses_sgd) return nullptr;
  return optimizer_.fused(weights_, layer, update->lr, update->step, update->sums);
}

void Stage::complete_gradients() {
  for (int l = 0; l < layers(); ++l)
    if (!gradient_started_[l] && layer(l).trains())
      for (std::size_t p = 0; p < layer(l).parameters.size(); ++p)
        stream_->clear(optimizer_.gradients(l)[p],
                       weights_.elements(l, static_cast<int>(p)) * sizeof(float));
}

void Stage::update(const StageUpdate& update) {
  if (!update.sums.empty())
    update_by_kernels({.lr = update.own.lr, .step = update.step, .sums = update.sums});
  optimizer_.apply(weights_, update, watch_);
  weights_.advance(watch_);
  const bool whole = !update.own.skip && std::ranges::none_of(update.tied, &UpdateTerms::skip);
  if (const double back = input_.delta.correction; back != 0 && keeps_up_delta_ && whole)
    weights_.set_mixed({weights_.live(), Extrapolate{back}});
  gradient_started_.assign(gradient_started_.size(), false);
}

void Stage::update_by_kernels(const UpdateCall& call) {
  for (const CompiledStage& c : compiled_) {
    if (c.size.mode != Mode::Train) continue;
    for (int l = 0; l < layers(); ++l)
      if (const FusedUpdate* update = fused(c, l, &call))
        watched(watch_, *stream_, LayerWork::Update, l,
                [&] { c.kernels[l]->update(*stream_, *update, passes_.scratch(Mode::Train)); });
    return;
  }
}

void Stage::keep_up_delta(bool on) {
  keeps_up_delta_ = on;
  optimizer_.keep_up_delta(on);
}

void Stage::read_output(const PassCall& call, float* plain) const {
  for (const CompiledStage& c : compiled_)
    if (c.size == call.size)
      c.lowering->store_value(*stream_, Graph::output_of(input_.last),
                              at(bases(call), c.recipe.output), call.size.samples, plain);
}

}  // namespace pipetrain
