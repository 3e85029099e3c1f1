// A model of two sides that only computes: sources once, and then what comes next behind the
// targets so far, as often as asked. On the calling thread.
//
//   source ── encoder ─┬─> decoder ── one position ──> head ── outputs
//   target ────────────┘   padded to T, a multiple that grows with the prefix
//
// Each part is a stage of its own, so what crosses a cut lies in a packet (runtime/recipe.hpp), and
// is laid out for the length that the part reads it at: what the encoder made is kept at T = 1 and
// copied where T grows, the head is given the one position. So neither does work twice.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "checkpoint/parameters.hpp"
#include "config/config.hpp"
#include "graph/translation.hpp"
#include "runtime/stage.hpp"

namespace pipetrain {

struct TranslationPassInput {  // graph, backend and config outlive the pass
  const Graph& graph;
  Backend& backend;
  const Config& config;  // its precision, kernel threads and bucket_multiple
  int rows = 1;          // sentences at once: a call has as many, whatever is in them
};

// Threading: of one thread at a time, which has the kernel threads of all the config's workers
// during a call and its own again behind it. UsageError: translation_parts().
class TranslationPass {
 public:
  explicit TranslationPass(const TranslationPassInput& input);
  ~TranslationPass();

  // Must precede the first pass; may come again between sources.
  void put_parameters(const NamedTensors& tensors);

  // Sentences of one length, [rows, length] with padding: a multiple of bucket_multiple, or the
  // model's longest.
  void read_sources(std::span<const std::int32_t> tokens, std::int64_t length);

  // What the model says of the token behind position `position` of each target, [rows, V];
  // `tokens` are [rows, position + 1]. Valid until the next call, the caller's to change.
  std::span<float> next(std::span<const std::int32_t> tokens, std::int64_t position);

  int rows() const { return in_.rows; }
  int threads() const { return threads_; }
  Lengths longest() const { return longest_; }
  // So many tokens or more, as sentences are padded.
  std::int64_t padded(std::int64_t tokens, std::int64_t longest) const;

 private:
  struct Packet {
    PacketLayout layout;
    std::byte* memory = nullptr;
    std::size_t bytes = 0;  // of the memory: the largest layout so far
    std::byte* at(std::size_t value) const { return memory + layout.offsets[value]; }
  };

  PassCall call(std::int64_t target_length) const;
  void prepare(Stage& stage, std::int64_t target_length);
  void lay_out(Packet& packet, LayerId cut, std::int64_t target_length);
  std::size_t value_bytes(ValueId value, std::int64_t target_length) const;
  void lengthen(std::int64_t length);
  void write_targets(std::span<const std::int32_t> tokens, std::int64_t count);
  void take_position(std::int64_t position);

  TranslationPassInput in_;
  TranslationParts parts_;
  int threads_;
  Lengths longest_;
  LowerOptions options_;
  LoweredModel model_;
  Stage encoder_, decoder_, head_;
  Packet encoded_, prefix_, decoded_, position_;
  std::int64_t source_length_ = 0, target_length_ = 0;  // 0: no source is read, no prefix laid out
  std::vector<std::int32_t> tokens_;                    // as a stage is given them
  std::vector<float> outputs_;
};

}  // namespace pipetrain
