// What a layer computes: every kind of layer, with what a model file says about it. Sizes that
// follow from the input are worked out, not stored.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace pipetrain {

using Pair = std::array<std::int64_t, 2>;  // height, width

struct Linear {  // over the last dimension
  std::int64_t out_features = 0;
  bool bias = true;
  std::optional<double> init_std = {};  // weights ~ N(0, init_std), bias 0; none: PyTorch's default
  std::string tied = {};                // the layer whose weight it uses, as written in the file;
                                        // empty: its own
  bool operator==(const Linear&) const = default;
};
struct Conv2d {
  std::int64_t out_channels = 0;
  Pair kernel{}, stride{1, 1}, padding{0, 0};
  std::int64_t groups = 1;
  bool bias = true;
  std::optional<double> init_std = {};
  bool operator==(const Conv2d&) const = default;
};
struct BatchNorm {
  double eps = 1e-5, momentum = 0.1;
  bool operator==(const BatchNorm&) const = default;
};
struct Relu {
  bool operator==(const Relu&) const = default;
};
struct MaxPool {
  Pair kernel{}, stride{}, padding{0, 0};
  bool operator==(const MaxPool&) const = default;
};
struct AvgPool {  // padding counts as zeros (count_include_pad, PyTorch's default)
  Pair kernel{}, stride{}, padding{0, 0};
  bool operator==(const AvgPool&) const = default;
};
struct GlobalAvgPool {
  bool operator==(const GlobalAvgPool&) const = default;
};  // [C, H, W] -> [C, 1, 1], as AdaptiveAvgPool2d(1)
struct Flatten {
  bool operator==(const Flatten&) const = default;
};
struct Dropout {
  double p = 0.5;
  bool operator==(const Dropout&) const = default;
};
struct Add {
  bool operator==(const Add&) const = default;
};  // any number of inputs of one shape
struct Identity {
  bool operator==(const Identity&) const = default;
};
struct LayerNorm {  // over the last dimension
  double eps = 1e-5;
  bool bias = true;
  bool operator==(const LayerNorm&) const = default;
};
struct Gelu {
  bool tanh = false;  // approximated with a tanh; false: exact
  bool operator==(const Gelu&) const = default;
};
struct Embedding {  // tokens [T] -> [T, C]: scale times the weight's rows
  std::int64_t embedding_dim = 0;
  double scale = 1;  // sqrt(C) in a Transformer (Vaswani et al. 2017, section 3.4)
  double init_std = 1;
  std::string tied = {};  // as in Linear
  bool operator==(const Embedding&) const = default;
};
struct LearnedPositions {  // [T, C]: adds a weight [T, C]
  double init_std = 0.02;
  bool operator==(const LearnedPositions&) const = default;
};
struct SinusoidalPositions {  // [T, C]: adds sines and cosines (Vaswani et al. 2017, section 3.5)
  bool operator==(const SinusoidalPositions&) const = default;
};
// From one value [T, 3C], the queries, keys and values of all heads side by side (S = T), or from
// two: the queries [T, C], and [S, 2C], the keys and values side by side. -> [T, C]
struct Attention {
  std::int64_t heads = 1;
  bool causal = false;        // for one value only
  std::int64_t padding = -1;  // a token; the last input is then the keys' tokens [S], and keys at
                              // this token take no part. -1: none, and no such input
  bool operator==(const Attention&) const = default;
};
// A long short-term memory (Hochreiter and Schmidhuber 1997), [T, C] -> [T, hidden_size], from a
// zero state. Rows begin with their sequence and end with padding, where outputs are 0.
struct Lstm {
  std::int64_t hidden_size = 0;
  bool reverse = false;        // from the sequence's last position to its first
  bool bidirectional = false;  // both ways, [T, 2 hidden_size]: the forward outputs come first
  bool bias = true;
  std::int64_t padding = -1;  // a token; the last input is then the sequence's tokens [T], and
                              // everything after the last other token is padding. -1: none, and no
                              // such input
  bool operator==(const Lstm&) const = default;
};
// From queries [T, N], keys [S, N] and values [S, C] -> [T, C] (Bahdanau et al. 2015).
struct AdditiveAttention {
  bool normalize = true;      // the length of its vector is a parameter, and a bias is added
  std::int64_t padding = -1;  // as in Attention
  bool operator==(const AdditiveAttention&) const = default;
};
struct Narrow {  // tokens [T] -> [length], starting at `start`, as torch.narrow
  std::int64_t start = 0, length = 0;
  bool operator==(const Narrow&) const = default;
};
struct Concat {  // images along the channels, others along the last dimension
  bool operator==(const Concat&) const = default;
};

// The one list of all kinds of layer: the alternatives of LayerSpec, in this order. Each backend
// makes a kernel of each (backend/make_kernel.inl), and each has a row of traits (traits.hpp). An
// elementwise kind is a function of one number; a backend provides that and its slope, no more.
#define PIPETRAIN_LAYER_KINDS(KIND, ELEMENTWISE) \
  KIND(Linear)                                   \
  KIND(Conv2d)                                   \
  KIND(BatchNorm)                                \
  KIND(Relu)                                     \
  KIND(MaxPool)                                  \
  KIND(AvgPool)                                  \
  KIND(GlobalAvgPool)                            \
  KIND(Flatten)                                  \
  KIND(Dropout)                                  \
  KIND(Add)                                      \
  KIND(Identity)                                 \
  KIND(LayerNorm)                                \
  ELEMENTWISE(Gelu)                              \
  KIND(Embedding)                                \
  KIND(LearnedPositions)                         \
  KIND(SinusoidalPositions)                      \
  KIND(Attention)                                \
  KIND(Concat)                                   \
  KIND(Narrow)                                   \
  KIND(Lstm)                                     \
  KIND(AdditiveAttention)

// A variant of all arguments but the first, so that each item of a list may begin with a comma.
template <class, class... Kinds>
using VariantBehind = std::variant<Kinds...>;
#define PIPETRAIN_NEXT_KIND(Kind) , Kind
#define PIPETRAIN_NO_KIND(Kind)
using LayerSpec =
    VariantBehind<void PIPETRAIN_LAYER_KINDS(PIPETRAIN_NEXT_KIND, PIPETRAIN_NEXT_KIND)>;
using ElementwiseSpec =
    VariantBehind<void PIPETRAIN_LAYER_KINDS(PIPETRAIN_NO_KIND, PIPETRAIN_NEXT_KIND)>;
#undef PIPETRAIN_NO_KIND
#undef PIPETRAIN_NEXT_KIND

// The TOML name of a layer's kind: "conv2d".
std::string_view kind_name(const LayerSpec& spec);

}  // namespace pipetrain
