#include "runtime/translation_pass.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "graph/lengths.hpp"
#include "runtime/stage_tensors.hpp"
#include "runtime/threads.hpp"

namespace pipetrain {
namespace {

constexpr ValueId target_tokens = {2};  // behind the input and the source's (graph/build.cpp)
const OptimizerConfig no_optimizer = {};

// All cores that training has.
int all_threads(const Config& config) {
  const int workers = config.hardware.workers == "inline" ? 1 : config.pipeline.stages;
  return plan_threads(1, config.hardware.threads_per_stage * workers).threads_per_stage;
}

LoweredModel lower(const TranslationPassInput& in, const LowerOptions& options, int threads) {
  const KernelThreads here(threads);
  return {in.graph, in.backend.lower(in.graph, options)};
}

StageInput stage(const TranslationPassInput& in, const LoweredModel& model, int id, LayerId first,
                 LayerId behind) {
  return {.model = model,
          .backend = in.backend,
          .optimizer = no_optimizer,
          .id = {id},
          .first = first,
          .last = {behind.value - 1}};
}

}  // namespace

TranslationPass::TranslationPass(const TranslationPassInput& in)
    : in_(in),
      parts_(translation_parts(in.graph)),
      threads_(std::min(all_threads(in.config), available_cores())),
      longest_(lengths_of(in.graph)),
      options_{
          .samples = in.rows,
          .precision = in.config.training.precision == "bf16" ? Precision::Bf16 : Precision::F32},
      model_(lower(in, options_, threads_)),
      encoder_(stage(in, model_, 0, {0}, parts_.decoder)),
      decoder_(stage(in, model_, 1, parts_.decoder, parts_.head)),
      head_(stage(in, model_, 2, parts_.head, {static_cast<int>(in.graph.layers.size())})),
      outputs_(static_cast<std::size_t>(in.rows * in.graph.input.vocabulary)) {}

// What a device has been asked for reads the stages' memory.
TranslationPass::~TranslationPass() {
  for (Stage* stage : {&encoder_, &decoder_, &head_}) try {
      stage->stream().finish();
    } catch (...) {  // what failed has been told
    }
}

void TranslationPass::put_parameters(const NamedTensors& tensors) {
  const KernelThreads here(threads_);
  for (Stage* stage : {&encoder_, &decoder_, &head_}) {
    pipetrain::put_parameters(*stage, tensors);
    stage->begin_program();
  }
}

std::int64_t TranslationPass::padded(std::int64_t tokens, std::int64_t longest) const {
  const std::int64_t multiple = in_.config.data.bucket_multiple;
  return std::min((tokens + multiple - 1) / multiple * multiple, longest);
}

PassCall TranslationPass::call(std::int64_t target_length) const {
  PassCall call;
  call.size = {in_.rows, Mode::Evaluate, {source_length_, target_length}};
  return call;
}

void TranslationPass::prepare(Stage& stage, std::int64_t target_length) {
  const MicrobatchSize size = call(target_length).size;
  model_.add(in_.backend, size.lengths, options_);
  stage.prepare(size);
}

void TranslationPass::lay_out(Packet& packet, LayerId cut, std::int64_t target_length) {
  const Lengths lengths{source_length_, target_length};
  packet.layout = activation_packet(model_.graph(lengths), model_.lowering(lengths), cut, in_.rows);
  if (packet.layout.bytes <= packet.bytes) return;
  packet.memory = encoder_.take_memory().exchange(Use::Packets, packet.memory, packet.bytes,
                                                  packet.layout.bytes);
  packet.bytes = packet.layout.bytes;
}

void TranslationPass::read_sources(std::span<const std::int32_t> tokens, std::int64_t length) {
  PIPETRAIN_CHECK(
      std::cmp_equal(tokens.size(), in_.rows * length) && length == padded(length, longest_.source),
      "{} tokens of sources of {}", tokens.size(), length);
  const KernelThreads here(threads_);
  source_length_ = length;
  target_length_ = 0;
  prepare(encoder_, 1);
  lay_out(encoded_, parts_.decoder, 1);
  const auto row_length = static_cast<std::size_t>(length) + 1;
  tokens_.assign(static_cast<std::size_t>(in_.rows) * row_length, 0);
  for (std::size_t r = 0; r < static_cast<std::size_t>(in_.rows); ++r)
    std::ranges::copy(tokens.subspan(r * (row_length - 1), row_length - 1),
                      tokens_.begin() + static_cast<std::ptrdiff_t>(r * row_length));
  PassCall pass = call(1);
  pass.packet_out = encoded_.memory;
  encoder_.load_input(pass, tokens_.data());
  encoder_.forward(pass);
  encoder_.stream().finish();
}

std::size_t TranslationPass::value_bytes(ValueId value, std::int64_t target_length) const {
  return model_.lowering({source_length_, target_length}).value_bytes(value, in_.rows);
}

// The prefix's packet at another length; what is of the source goes along.
void TranslationPass::lengthen(std::int64_t length) {
  prepare(decoder_, length);
  prepare(head_, 1);
  lay_out(prefix_, parts_.decoder, length);
  lay_out(decoded_, parts_.head, length);
  lay_out(position_, parts_.head, 1);
  target_length_ = length;
  for (std::size_t v = 0; v < prefix_.layout.values.size(); ++v) {
    const ValueId value = prefix_.layout.values[v];
    if (value == target_tokens) continue;
    PIPETRAIN_CHECK(value_bytes(value, length) == value_bytes(value, 1),
                    "value {} of the source has other bytes at another target", value.value);
    decoder_.stream().copy(prefix_.at(v), encoded_.at(v), value_bytes(value, 1));
  }
}

void TranslationPass::write_targets(std::span<const std::int32_t> tokens, std::int64_t count) {
  const auto length = static_cast<std::size_t>(target_length_),
             had = static_cast<std::size_t>(count);
  tokens_.assign(static_cast<std::size_t>(in_.rows) * length, 0);
  for (std::size_t r = 0; r < static_cast<std::size_t>(in_.rows); ++r)
    std::ranges::copy(tokens.subspan(r * had, had),
                      tokens_.begin() + static_cast<std::ptrdiff_t>(r * length));
  const std::size_t bytes = tokens_.size() * sizeof(std::int32_t);
  PIPETRAIN_CHECK(value_bytes(target_tokens, target_length_) == bytes, "tokens of {} bytes", bytes);
  const auto at = std::ranges::find(prefix_.layout.values, target_tokens);
  PIPETRAIN_CHECK(at != prefix_.layout.values.end(), "the target's tokens do not cross the cut");
  decoder_.stream().write(prefix_.at(static_cast<std::size_t>(at - prefix_.layout.values.begin())),
                          tokens_.data(), bytes);
}

// Rows of a sequence lie plain, position behind position.
void TranslationPass::take_position(std::int64_t position) {
  Stream& stream = head_.stream();
  for (std::size_t v = 0; v < decoded_.layout.values.size(); ++v) {
    const ValueId value = decoded_.layout.values[v];
    const std::size_t one = value_bytes(value, 1), all = value_bytes(value, target_length_);
    const auto length = static_cast<std::size_t>(target_length_);
    PIPETRAIN_CHECK(all == one * length, "value {} has {} bytes at {} positions, {} at one",
                    value.value, all, length, one);
    const std::size_t row = one / static_cast<std::size_t>(in_.rows);
    for (std::size_t r = 0; r < static_cast<std::size_t>(in_.rows); ++r)
      stream.copy(position_.at(v) + r * row,
                  decoded_.at(v) + (r * length + static_cast<std::size_t>(position)) * row, row);
  }
}

std::span<float> TranslationPass::next(std::span<const std::int32_t> tokens,
                                       std::int64_t position) {
  PIPETRAIN_CHECK(source_length_ > 0, "no source has been read");
  PIPETRAIN_CHECK(position >= 0 && position < longest_.target &&
                      std::cmp_equal(tokens.size(), in_.rows * (position + 1)),
                  "{} tokens up to position {}", tokens.size(), position);
  const KernelThreads here(threads_);
  const std::int64_t length = padded(position + 1, longest_.target);
  if (length != target_length_) lengthen(length);
  write_targets(tokens, position + 1);
  PassCall pass = call(length);
  pass.packet_in = prefix_.memory;
  pass.packet_out = decoded_.memory;
  decoder_.forward(pass);
  decoder_.stream().finish();
  take_position(position);
  PassCall last = call(1);
  last.packet_in = position_.memory;
  head_.forward(last);
  head_.read_output(last, outputs_.data());
  return outputs_;
}

}  // namespace pipetrain
