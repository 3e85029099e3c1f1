// What a layer computes: every kind of layer with what a model file says of it. Sizes that follow
// from its input are worked out, not stored.
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
  std::optional<double> init_std = {};  // weights ~ N(0, init_std), the bias 0; else PyTorch's way
  std::string tied = {};                // the layer whose weight it uses, as it is written; or none
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
  bool tanh = false;  // the approximation by a tanh, else exact
  bool operator==(const Gelu&) const = default;
};
struct Embedding {  // tokens [T] -> [T, C]: scale times the weight's rows
  std::int64_t embedding_dim = 0;
  double scale = 1;  // sqrt(C) of a Transformer (Vaswani et al. 2017, section 3.4)
  double init_std = 1;
  std::string tied = {};  // as of Linear
  bool operator==(const Embedding&) const = default;
};
struct LearnedPositions {  // [T, C]: adds a weight [T, C]
  double init_std = 0.02;
  bool operator==(const LearnedPositions&) const = default;
};
struct SinusoidalPositions {  // [T, C]: adds sines and cosines (Vaswani et al. 2017, section 3.5)
  bool operator==(const SinusoidalPositions&) const = default;
};
// Of one value, [T, 3C]: the queries, keys and values of all heads side by side, S = T. Of two: the
// queries [T, C], and [S, 2C], keys and values side by side. -> [T, C]
struct Attention {
  std::int64_t heads = 1;
  bool causal = false;        // of one value only
  std::int64_t padding = -1;  // a token; then the last input is the keys' tokens [S], and keys at
                              // this token take no part. -1: none, and no such input
  bool operator==(const Attention&) const = default;
};
// A long short-term memory (Hochreiter and Schmidhuber 1997), [T, C] -> [T, hidden_size], its first
// state 0. Rows begin with their sequence and end with padding, where outputs are 0.
struct Lstm {
  std::int64_t hidden_size = 0;
  bool reverse = false;        // from the last position of the sequence to the first
  bool bidirectional = false;  // both ways, [T, 2 hidden_size]: first the forward one's outputs
  bool bias = true;
  std::int64_t padding = -1;  // a token; then the last input is the sequence's tokens [T], and all
                              // after the last other token is padding. -1: none, no such input
  bool operator==(const Lstm&) const = default;
};
// Of queries [T, N], keys [S, N] and values [S, C] -> [T, C] (Bahdanau et al. 2015).
struct AdditiveAttention {
  bool normalize = true;      // its vector's length is a parameter, and a bias is added
  std::int64_t padding = -1;  // as of Attention
  bool operator==(const AdditiveAttention&) const = default;
};
struct Narrow {  // tokens [T] -> [length], those from `start` on, as torch.narrow
  std::int64_t start = 0, length = 0;
  bool operator==(const Narrow&) const = default;
};
struct Concat {  // of images along the channels, of others along the last dimension
  bool operator==(const Concat&) const = default;
};

// Every kind of layer, the one list of them: LayerSpec's alternatives in this order, what each
// backend makes a kernel of (backend/make_kernel.inl), and what has a row of traits (traits.hpp).
// An elementwise kind is a function of one number, which a backend gives with its slope, no more.
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

// A variant of what follows the first: so each item of a list may begin with its comma.
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
