#include "decode/translation_pass.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "graph/graph.hpp"
#include "graph/lengths.hpp"
#include "graph/traits.hpp"
#include "machine/threads.hpp"

namespace pipetrain {
namespace {

// All the cores that training uses.
int all_threads(const Config& config) {
  const int workers = config.hardware.workers == Workers::Inline ? 1 : config.pipeline.stages;
  return plan_threads(1, config.hardware.threads_per_stage * workers).threads_per_stage;
}

LoweredModel lower(const TranslationPassInput& in, const LowerOptions& options, int threads) {
  const KernelThreads here(threads);
  return {in.graph, in.backend.lower(in.graph, options)};
}

}  // namespace

TranslationPass::TranslationPass(const TranslationPassInput& in)
    : in_(in),
      needs_(needs_to_translate(in.graph)),
      threads_(std::min(all_threads(in.config), available_cores())),
      longest_(lengths_of(in.graph)),
      options_{.samples = in.rows, .precision = in.config.training.precision},
      model_(lower(in, options_, threads_)),
      stream_(in.backend.make_stream({})),
      memory_(*stream_, forward_weight_bytes(in.graph, model_.lowering())),
      weights_(in.graph, model_.lowering(), *stream_, memory_),
      caches_(*stream_, memory_, in.rows),
      values_(*stream_, memory_, Use::Activations),
      prefix_(*stream_, memory_, Use::Activations),
      scratch_(*stream_, memory_, Use::Workspace),
      saved_(*stream_, memory_, Use::Workspace),
      outputs_(in.rows * in.graph.input.vocabulary) {
  for (std::size_t l = side_layers; l < needs_.size(); ++l)
    if (needs_[l] == Needs::Prefix) keep_values(in.graph.layers[l]);
}

// Enqueued work reads the pass's memory.
TranslationPass::~TranslationPass() {
  try {
    stream_->finish();
  } catch (...) {  // the failure has been reported
  }
}

void TranslationPass::put_parameters(const NamedTensors& tensors) {
  const KernelThreads here(threads_);
  weights_.put(tensors);
}

std::int64_t TranslationPass::padded(std::int64_t tokens, std::int64_t longest) const {
  const std::int64_t multiple = in_.config.data.bucket_multiple;
  return std::min((tokens + multiple - 1) / multiple * multiple, longest);
}

// ---- memory

void TranslationPass::make_room(const Kernels& kernels) {
  const KernelBytes most = largest(kernels);
  scratch_.reserve(most.scratch);
  saved_.reserve(most.saved);
}

const TranslationForm& TranslationPass::form_of(std::int64_t source) {
  const auto known = forms_.find(source);
  if (known != forms_.end()) return known->second;
  model_.add(in_.backend, {source, 1}, options_);
  TranslationForm form = make_translation_form(compile_input(), source);
  make_room(form.kernels);
  values_.reserve(form.bytes);
  if (!caches_.has_states()) keep_states(form.kernels);
  return forms_.emplace(source, std::move(form)).first->second;
}

const Kernels& TranslationPass::prefix_kernels(const Lengths& lengths) {
  const auto known = prefix_kernels_.find(lengths);
  if (known != prefix_kernels_.end()) return known->second;
  model_.add(in_.backend, lengths, options_);
  Kernels kernels = make_prefix_kernels(compile_input(), lengths);
  make_room(kernels);
  return prefix_kernels_.emplace(lengths, std::move(kernels)).first->second;
}

std::size_t TranslationPass::position_bytes(ValueId value) const {
  return form_->lowering->value_bytes(value, in_.rows);
}

// The rows of a sequence are plain, position after position.
std::size_t TranslationPass::prefix_bytes(ValueId value) const {
  const std::size_t bytes = model_.lowering(lengths_).value_bytes(value, in_.rows);
  PIPETRAIN_CHECK(bytes == position_bytes(value) * static_cast<std::size_t>(lengths_.target),
                  "value {} has {} bytes at {} positions, {} at one", value.value, bytes,
                  lengths_.target, position_bytes(value));
  return bytes;
}

std::byte* TranslationPass::at(ValueId value) const {
  return values_.get() + form_->offsets[value];
}

// Keeps those of the target's values of which a layer reads the whole prefix.
void TranslationPass::keep_values(const Layer& layer) {
  const Indexed<bool, ValueId> of_target = made_of_target(in_.graph);
  for (const ValueId input : layer.inputs)
    if (of_target[input])
      caches_.add_value(input, model_.lowering().value_bytes(input, in_.rows) /
                                   static_cast<std::size_t>(longest_.target));
}

// A kernel's state has the same size for all lengths.
void TranslationPass::keep_states(const Kernels& kernels) {
  for (LayerId l{0}; l.value < std::ssize(kernels); ++l.value) {
    const auto at = static_cast<std::size_t>(l.value);
    if (needs_[at] != Needs::Position || !kernels[at]) continue;
    const std::vector<std::size_t>& state_bytes = kernels[at]->traits().state_bytes;
    const Layer& layer = in_.graph.layers[at];
    PIPETRAIN_CHECK(!traits_of(layer.spec).carries_state || !state_bytes.empty(),
                    "the kernel of '{}' takes no state", layer.name);
    for (const std::size_t bytes : state_bytes) caches_.add_state(l, bytes);
  }
}

// ---- layers

void TranslationPass::run(LayerId layer, Kernel& kernel, void* output) {
  kernel.forward({.stream = stream_.get(),
                  .inputs = inputs_,
                  .output = output,
                  .weights = weights_.of(layer),
                  .buffers = weights_.buffers(layer),
                  .saved = saved_.get(),
                  .scratch = scratch_.get(),
                  .random = {},
                  .state = caches_.state(layer)});
}

void TranslationPass::run_here(LayerId layer) {
  Kernel& kernel = *form_->kernels[layer];
  if (kernel.traits().aliases_input) return;
  inputs_.clear();
  for (const ValueId input : in_.graph.layers[layer].inputs) inputs_.push_back(at(input));
  run(layer, kernel, at(Graph::output_of(layer)));
}

void TranslationPass::run_prefix(LayerId layer) {
  Kernel& kernel = *(*of_prefix_)[layer];
  inputs_.clear();
  for (const ValueId input : in_.graph.layers[layer].inputs) {
    PrefixCache* const cache = caches_.value(input);
    if (cache) cache->put(position_, at(input));
    inputs_.push_back(cache ? cache->values() : at(input));
  }
  const ValueId output = Graph::output_of(layer);
  const std::size_t bytes = prefix_bytes(output), rows = static_cast<std::size_t>(in_.rows),
                    one = position_bytes(output) / rows;
  std::byte* const all = prefix_.reserve(bytes);
  run(layer, kernel, all);
  stream_->copy_rows(
      {at(output), one, all + static_cast<std::size_t>(position_) * one, bytes / rows, one, rows});
}

// ---- passes

void TranslationPass::write_tokens(ValueId value, std::span<const std::int32_t> tokens) {
  PIPETRAIN_CHECK(position_bytes(value) == tokens.size_bytes(), "tokens of {} bytes, not {}",
                  tokens.size_bytes(), position_bytes(value));
  stream_->write(at(value), tokens.data(), tokens.size_bytes());
}

void TranslationPass::read_sources(std::span<const std::int32_t> tokens, std::int64_t length) {
  PIPETRAIN_CHECK(
      std::cmp_equal(tokens.size(), in_.rows * length) && length == padded(length, longest_.source),
      "{} tokens of sources of {}", tokens.size(), length);
  const KernelThreads here(threads_);
  form_ = nullptr;  // if this fails, no source has been read
  form_ = &form_of(length);
  lengths_ = {length, 0};
  position_ = 0;
  caches_.begin();
  write_tokens(source_value, tokens);
  for (LayerId l{side_layers}; l.value < std::ssize(needs_); ++l.value)
    if (needs_[l] == Needs::Source) run_here(l);
  stream_->finish();
}

std::span<float> TranslationPass::next(std::span<const std::int32_t> tokens,
                                       std::span<const int> from) {
  PIPETRAIN_CHECK(form_, "no source has been read");
  PIPETRAIN_CHECK(position_ < longest_.target && std::cmp_equal(tokens.size(), in_.rows) &&
                      from.size() == tokens.size(),
                  "{} tokens for {} rows at position {}", tokens.size(), from.size(), position_);
  for (const int row : from)
    PIPETRAIN_CHECK(row >= 0 && row < in_.rows, "row {} of {}", row, in_.rows);
  const KernelThreads here(threads_);
  const Lengths lengths{lengths_.source, padded(position_ + 1, longest_.target)};
  if (lengths != lengths_ && std::ranges::count(needs_, Needs::Prefix) > 0)
    of_prefix_ = &prefix_kernels(lengths);
  lengths_ = lengths;
  caches_.arrange(lengths.target, position_, from);
  write_tokens(target_value, tokens);
  for (LayerId l{side_layers}; l.value < std::ssize(needs_); ++l.value) {
    const Needs needs = needs_[l];
    if (needs == Needs::Position) run_here(l);
    if (needs == Needs::Prefix) run_prefix(l);
  }
  const ValueId output = Graph::output_of({static_cast<int>(needs_.size()) - 1});
  form_->lowering->store_value(*stream_, output, at(output), in_.rows, outputs_.data());
  ++position_;
  return outputs_;
}

}  // namespace pipetrain
