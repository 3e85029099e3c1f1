// A model of two sides that only computes: first the sources, then, position by position, what
// follows the targets so far. Runs on the calling thread.
//
//   once a sentence     source ── encoder ── keys and values of the encoder ─────┐
//   once a position     token ── linear ──┐         ┌── linear, attention to <───┴── ... outputs
//   of the prefix                      cache ── self-attention, positions
//                                 [rows, T], a multiple that grows
//
// Only layers that mix positions, or count them, are given the whole prefix: the values that they
// read are cached, not recomputed (graph/translation.hpp, decode/target_caches.hpp), and only their
// outputs at the newest position are used further. An lstm is given the state that it left. So the
// outputs of a position are those of the whole model over all positions at once, up to rounding: a
// product with another number of rows may be computed in another way.
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

struct TranslationPassInput {  // graph, backend and config must outlive the pass
  const Graph& graph;
  Backend& backend;
  const Config& config;  // for its precision, kernel threads and bucket_multiple
  int rows = 1;          // sentences at once: every call has this many, whatever they hold
};

// Threading: one thread at a time; during a call it uses the kernel threads of all the config's
// workers, and its own number again afterwards. UsageError: needs_to_translate().
class TranslationPass {
 public:
  explicit TranslationPass(const TranslationPassInput& input);
  ~TranslationPass();

  // Must be called before the first pass; may be called again between sources.
  void put_parameters(const NamedTensors& tensors);

  // Sentences of equal length, [rows, length] with padding: a multiple of bucket_multiple, or the
  // model's longest. Starts new targets.
  void read_sources(std::span<const std::int32_t> tokens, std::int64_t length);

  // Extends each target by one token, and returns the model's outputs for the token after that,
  // [rows, V]. Row r continues the target that row from[r] had, for the same source, with
  // tokens[r]. Valid until the next call; the caller may change them.
  std::span<float> next(std::span<const std::int32_t> tokens, std::span<const int> from);

  int rows() const { return in_.rows; }
  int threads() const { return threads_; }
  Lengths longest() const { return longest_; }
  // The length to which a sentence of this many tokens is padded.
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
  std::map<std::int64_t, TranslationForm> forms_;  // by source length
  std::map<Lengths, Kernels> prefix_kernels_;
  TargetCaches caches_;
  Room values_, prefix_, scratch_, saved_;
  const TranslationForm* form_ = nullptr;  // null: no source has been read
  const Kernels* of_prefix_ = nullptr;     // for lengths_, if layers need the prefix
  Lengths lengths_;                        // of the sources, and of the padded prefixes
  std::int64_t position_ = 0;              // the next one
  std::vector<const void*> inputs_;        // of one layer
  std::vector<float> outputs_;
};

}  // namespace pipetrain
