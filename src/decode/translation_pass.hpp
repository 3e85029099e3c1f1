// A model of two sides that only computes: sources once, and then what comes next after the
// targets so far, position by position. On the calling thread.
//
//   once a sentence     source ── encoder ── keys and values of the encoder ─────┐
//   once a position     token ── linear ──┐         ┌── linear, attention to <───┴── ... outputs
//   of the prefix                      cache ── self-attention, positions
//                                 [rows, T], a multiple that grows
//
// Only layers that mix positions, or count them, are given the whole prefix: what they read of it
// is kept, not made again (graph/translation.hpp, decode/target_caches.hpp), and their outputs at
// the newest position continue. An lstm is given the state that it left. So a position's outputs
// are those of the whole model over all positions at once, up to rounding: a product of other rows
// may be computed otherwise.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/indexed.hpp"
#include "config/config.hpp"
#include "decode/forward_weights.hpp"
#include "decode/target_caches.hpp"
#include "decode/translation_form.hpp"

namespace pipetrain {

struct Graph;
struct Layer;

struct TranslationPassInput {  // graph, backend and config outlive the pass
  const Graph& graph;
  Backend& backend;
  const Config& config;  // its precision, kernel threads and bucket_multiple
  int rows = 1;          // sentences at once: a call has as many, whatever is in them
};

// Threading: of one thread at a time, which has the kernel threads of all the config's workers
// during a call and its own again after it. UsageError: needs_to_translate().
class TranslationPass {
 public:
  explicit TranslationPass(const TranslationPassInput& input);
  ~TranslationPass();

  // Must precede the first pass; may come again between sources.
  void put_parameters(const NamedTensors& tensors);

  // Sentences of one length, [rows, length] with padding: a multiple of bucket_multiple, or the
  // model's longest. The targets begin again.
  void read_sources(std::span<const std::int32_t> tokens, std::int64_t length);

  // The targets become one token longer, and this is what the model says of the token after it,
  // [rows, V]. Row r continues with the target that row from[r] had, of the same source, and
  // tokens[r]. Valid until the next call, the caller's to change.
  std::span<float> next(std::span<const std::int32_t> tokens, std::span<const int> from);

  int rows() const { return in_.rows; }
  int threads() const { return threads_; }
  Lengths longest() const { return longest_; }
  // This many tokens or more, as sentences are padded.
  std::int64_t padded(std::int64_t tokens, std::int64_t longest) const;

 private:
  void make_room(const Kernels& kernels);
  TranslationCompileInput compile_input() const { return {model_, needs_, in_.rows}; }
  const TranslationForm& form_of(std::int64_t source);
  const Kernels& prefix_kernels(const Lengths& lengths);
  std::size_t position_bytes(ValueId value) const;
  std::size_t prefix_bytes(ValueId value) const;
  std::byte* at(ValueId value) const;
  void keep_values(const Layer& layer);
  void keep_states(const Kernels& kernels);

  void write_tokens(ValueId value, std::span<const std::int32_t> tokens);
  void run(LayerId layer, Kernel& kernel, void* output);
  void run_here(LayerId layer);
  void run_prefix(LayerId layer);

  TranslationPassInput in_;
  Indexed<Needs, LayerId> needs_;  // per layer
  int threads_;
  Lengths longest_;
  LowerOptions options_;
  LoweredModel model_;
  std::unique_ptr<Stream> stream_;
  StageMemory memory_;
  ForwardWeights weights_;
  std::map<std::int64_t, TranslationForm> forms_;  // by the source's length
  std::map<Lengths, Kernels> prefix_kernels_;
  TargetCaches caches_;
  Room values_, prefix_, scratch_, saved_;
  const TranslationForm* form_ = nullptr;  // null: no source is read
  const Kernels* of_prefix_ = nullptr;     // at lengths_, where layers need the prefix
  Lengths lengths_;                        // of the sources, and of the prefixes with padding
  std::int64_t position_ = 0;              // that comes next
  std::vector<const void*> inputs_;        // of a layer
  std::vector<float> outputs_;
};

}  // namespace pipetrain
