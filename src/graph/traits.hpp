// What a layer is, once for each kind: how many inputs it reads, whether it mixes the positions of
// a sequence, what it carries. Code that needs such a property asks here; no other file lists kinds
// to find it out. How a kind is computed is not listed here: that is up to the backends.
//
// Each kind has a row below. A kind without one does not compile.
#pragma once

#include <cstdint>

#include "graph/layer_spec.hpp"

namespace pipetrain {

struct Layer;

enum class Inputs : std::uint8_t {
  One,
  Several,  // two or more of the same kind
  ByRule,   // the kind's shape rule says which
};

enum class Elements : std::uint8_t { Numbers, Tokens, Either };

// Which positions of an input the output at one position needs, for sequences [T, ...]. What is not
// a sequence has no positions to mix.
enum class Reach : std::uint8_t {
  Own,       // that position, whatever its number
  Numbered,  // that position and its number
  Before,    // that position and those before it
  All,       // those after it too
};

struct InputPlace {
  int index = 0, count = 1;  // of a layer's inputs
};

namespace kinds {

// What most kinds are. A kind's row hides what is different for it.
struct Common {
  static constexpr bool is_given = true;
  static constexpr Inputs inputs = Inputs::One;
  static constexpr Elements reads = Elements::Numbers;
  // Its output is its input, under another shape at most.
  static constexpr bool is_view = false;
  // It counts the mini-batches that it has seen in training, as PyTorch's num_batches_tracked.
  static constexpr bool counts_minibatches = false;
  // A parameter has a row for each position: at other lengths some rows are not used.
  static constexpr bool has_rows_by_position = false;
  // The token that marks padding, which takes no part; -1: no token does.
  static constexpr std::int64_t padding(const auto& /*spec*/) { return -1; }
  // It can be given one position at a time, with what the earlier ones left (the state of its
  // kernel). Then of `Reach::Before` only the position itself is needed.
  static constexpr bool carries_state(const auto& /*spec*/) { return false; }
};

// What a row begins with: how the kind treats positions, for which there is no default.
struct EachPosition : Common {
  static constexpr Reach reach(const auto& /*spec*/, InputPlace) { return Reach::Own; }
};
struct NumberedPositions : Common {
  static constexpr Reach reach(const auto& /*spec*/, InputPlace) { return Reach::Numbered; }
};
struct AllPositions : Common {
  static constexpr Reach reach(const auto& /*spec*/, InputPlace) { return Reach::All; }
};
struct OwnReach : Common {};  // the row has its own reach()

}  // namespace kinds

// For a kind without a row, which the list at the end refuses.
template <class Kind>
struct Traits : kinds::AllPositions {
  static constexpr bool is_given = false;
};

template <>
struct Traits<Linear> : kinds::EachPosition {};
template <>
struct Traits<Conv2d> : kinds::AllPositions {};
template <>
struct Traits<BatchNorm> : kinds::AllPositions {
  static constexpr bool counts_minibatches = true;
};
template <>
struct Traits<Relu> : kinds::EachPosition {};
template <>
struct Traits<MaxPool> : kinds::AllPositions {};
template <>
struct Traits<AvgPool> : kinds::AllPositions {};
template <>
struct Traits<GlobalAvgPool> : kinds::AllPositions {};
template <>
struct Traits<Flatten> : kinds::AllPositions {  // turns a sequence into one vector
  static constexpr bool is_view = true;
};
template <>
struct Traits<Dropout> : kinds::EachPosition {};
template <>
struct Traits<Add> : kinds::EachPosition {
  static constexpr Inputs inputs = Inputs::Several;
};
template <>
struct Traits<Identity> : kinds::EachPosition {
  static constexpr Elements reads = Elements::Either;
  static constexpr bool is_view = true;
};
template <>
struct Traits<LayerNorm> : kinds::EachPosition {};
template <>
struct Traits<Gelu> : kinds::EachPosition {};
template <>
struct Traits<Embedding> : kinds::EachPosition {
  static constexpr Elements reads = Elements::Tokens;
};
template <>
struct Traits<LearnedPositions> : kinds::NumberedPositions {
  static constexpr bool has_rows_by_position = true;
};
template <>
struct Traits<SinusoidalPositions> : kinds::NumberedPositions {};
// From one value, each position attends to positions of that value. From two, the first is the
// queries, read at the output's own position, and the second the keys and values. Tokens say which
// positions of the keys are padding.
template <>
struct Traits<Attention> : kinds::OwnReach {
  static constexpr Inputs inputs = Inputs::ByRule;
  static constexpr std::int64_t padding(const Attention& spec) { return spec.padding; }
  static constexpr Reach reach(const Attention& spec, InputPlace at) {
    const bool of_two = at.count - (spec.padding >= 0 ? 1 : 0) > 1;
    if (of_two && at.index == 0) return Reach::Own;
    return spec.causal ? Reach::Before : Reach::All;
  }
};
template <>
struct Traits<Concat> : kinds::EachPosition {
  static constexpr Inputs inputs = Inputs::Several;
};
template <>
struct Traits<Narrow> : kinds::EachPosition {  // for the positions that it keeps
  static constexpr Elements reads = Elements::Tokens;
};
template <>
struct Traits<Lstm> : kinds::OwnReach {
  static constexpr Inputs inputs = Inputs::ByRule;
  static constexpr std::int64_t padding(const Lstm& spec) { return spec.padding; }
  static constexpr Reach reach(const Lstm& spec, InputPlace) {
    return spec.reverse || spec.bidirectional ? Reach::All : Reach::Before;
  }
  // From one position alone, padding inside a sequence, which counts, cannot be distinguished from
  // padding after it.
  static constexpr bool carries_state(const Lstm& spec) { return spec.padding < 0; }
};
template <>
struct Traits<AdditiveAttention> : kinds::OwnReach {
  static constexpr Inputs inputs = Inputs::ByRule;
  static constexpr std::int64_t padding(const AdditiveAttention& spec) { return spec.padding; }
  static constexpr Reach reach(const AdditiveAttention&, InputPlace at) {
    return at.index == 0 ? Reach::Own : Reach::All;
  }
};

#define PIPETRAIN_HAS_TRAITS(Kind)                                                    \
  static_assert(Traits<Kind>::is_given, #Kind                                         \
                " has no row in src/graph/traits.hpp; say there what it is, such as " \
                "`template <> struct Traits<" #Kind "> : kinds::EachPosition {};`");
PIPETRAIN_LAYER_KINDS(PIPETRAIN_HAS_TRAITS, PIPETRAIN_HAS_TRAITS)
#undef PIPETRAIN_HAS_TRAITS

// ---- the same for a layer

struct LayerTraits {
  Inputs inputs;
  Elements reads;
  bool is_view, counts_minibatches, has_rows_by_position, carries_state;
  std::int64_t padding;
};

LayerTraits traits_of(const LayerSpec& spec);

Reach reach_of(const Layer& layer, int input);
// Does an output at one position need later positions of any input?
bool reads_ahead(const Layer& layer);

}  // namespace pipetrain
