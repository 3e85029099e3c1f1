#include "graph/kinds.hpp"

#include <array>

#include "graph/fields.hpp"

namespace pipetrain {
namespace {

using model_file::Fields;

constexpr model_file::NumberRule kPositive = {[](double x) { return x > 0; }, "above 0"};
// What f32 can hold: a variance of 0 must not be divided by.
constexpr model_file::NumberRule kEps = {[](double x) { return x >= 1e-30; }, "at least 1e-30"};

// None if the key is absent.
std::optional<double> read_init_std(Fields& f) {
  const double std = f.number("init_std", 0, kPositive);
  return std > 0 ? std::optional(std) : std::nullopt;
}

LayerSpec read_linear(Fields& f) {
  return Linear{.out_features = f.size("out_features"),
                .bias = f.flag("bias", true),
                .init_std = read_init_std(f),
                .tied = f.text("tied", "")};
}

LayerSpec read_conv2d(Fields& f) {
  return Conv2d{.out_channels = f.size("out_channels"),
                .kernel = f.pair("kernel"),
                .stride = f.pair("stride", Pair{1, 1}),
                .padding = f.pair("padding", Pair{0, 0}, 0),
                .groups = f.size("groups", 1),
                .bias = f.flag("bias", true),
                .init_std = read_init_std(f)};
}

LayerSpec read_batch_norm(Fields& f) {
  return BatchNorm{
      .eps = f.number("eps", 1e-5, kEps),
      .momentum =
          f.number("momentum", 0.1, {[](double x) { return x >= 0 && x <= 1; }, "from 0 to 1"})};
}

template <class Pool>
LayerSpec read_pool(Fields& f) {
  Pool pool;
  pool.kernel = f.pair("kernel");
  pool.stride = f.pair("stride", pool.kernel);
  pool.padding = f.pair("padding", Pair{0, 0}, 0);
  return pool;
}

LayerSpec read_dropout(Fields& f) {
  return Dropout{
      .p =
          f.number("p", 0.5, {[](double x) { return x >= 0 && x < 1; }, "at least 0 and below 1"})};
}

LayerSpec read_layer_norm(Fields& f) {
  return LayerNorm{.eps = f.number("eps", 1e-5, kEps), .bias = f.flag("bias", true)};
}

LayerSpec read_gelu(Fields& f) {
  return Gelu{.tanh = f.choice("approximate", {"none", "tanh"}) == "tanh"};
}

LayerSpec read_embedding(Fields& f) {
  return Embedding{.embedding_dim = f.size("embedding_dim"),
                   .scale = f.number("scale", 1, kPositive),
                   .init_std = f.number("init_std", 1, kPositive),
                   .tied = f.text("tied", "")};
}

LayerSpec read_learned_positions(Fields& f) {
  return LearnedPositions{.init_std = f.number("init_std", 0.02, kPositive)};
}

LayerSpec read_attention(Fields& f) {
  return Attention{.heads = f.size("heads"),
                   .causal = f.flag("causal", false),
                   .padding = f.size("padding", -1, 0)};
}

LayerSpec read_lstm(Fields& f) {
  return Lstm{.hidden_size = f.size("hidden_size"),
              .reverse = f.flag("reverse", false),
              .bidirectional = f.flag("bidirectional", false),
              .bias = f.flag("bias", true),
              .padding = f.size("padding", -1, 0)};
}

LayerSpec read_additive_attention(Fields& f) {
  return AdditiveAttention{.normalize = f.flag("normalize", true),
                           .padding = f.size("padding", -1, 0)};
}

LayerSpec read_narrow(Fields& f) {
  return Narrow{.start = f.size("start", 0, 0), .length = f.size("length")};
}

template <class Spec>
LayerSpec read_plain(Fields&) {
  return Spec{};
}

constexpr std::array<LayerKind, std::variant_size_v<LayerSpec>> kKinds = {{
    {"linear", "out_features, bias = true, init_std, tied",
     "y = x W^T + b over the last dimension of [features] or [T, features]", read_linear},
    {"conv2d", "out_channels, kernel, stride = 1, padding = 0, groups = 1, bias = true, init_std",
     "cross-correlation of an image; a size is a number or a [height, width] pair", read_conv2d},
    {"batch_norm", "eps = 1e-5, momentum = 0.1",
     "normalises each channel over the micro-batch; running statistics in evaluation",
     read_batch_norm},
    {"relu", "", "max(x, 0)", read_plain<Relu>},
    {"max_pool", "kernel, stride = kernel, padding = 0", "the largest of each window",
     read_pool<MaxPool>},
    {"avg_pool", "kernel, stride = kernel, padding = 0",
     "the mean of each window; padding counts as zeros", read_pool<AvgPool>},
    {"global_avg_pool", "", "the mean of each channel: [C, H, W] -> [C, 1, 1]",
     read_plain<GlobalAvgPool>},
    {"flatten", "", "one vector of all elements: [C, H, W] -> [C*H*W]", read_plain<Flatten>},
    {"dropout", "p = 0.5", "in training zeroes an element with probability p, scales the others",
     read_dropout},
    {"add", "", "the sum of two or more inputs of one shape", read_plain<Add>},
    {"identity", "", "its input, unchanged", read_plain<Identity>},
    {"layer_norm", "eps = 1e-5, bias = true", "normalises each vector of [features] or [T, C]",
     read_layer_norm},
    {"gelu", "approximate = \"none\" (exact) or \"tanh\"", "x times the normal distribution at x",
     read_gelu},
    {"embedding", "embedding_dim, scale = 1, init_std = 1, tied",
     "a row of the weight for each token, times scale: [T] -> [T, C]", read_embedding},
    {"learned_positions", "init_std = 0.02", "adds a weight [T, C]", read_learned_positions},
    {"sinusoidal_positions", "", "adds sines and cosines of the position",
     read_plain<SinusoidalPositions>},
    {"attention", "heads, causal = false, padding",
     "softmax(q k^T / sqrt(C / heads)) v of each head: of q, k, v [T, 3C], or q [T, C] and k, v "
     "[S, 2C] -> [T, C]; with padding, then the keys' tokens [S]",
     read_attention},
    {"concat", "", "its inputs side by side: images by channels, others by the last dimension",
     read_plain<Concat>},
    {"narrow", "start = 0, length", "a part of the tokens: [T] -> [length]", read_narrow},
    {"lstm", "hidden_size, reverse = false, bidirectional = false, bias = true, padding",
     "a recurrent layer: [T, C] -> [T, H], H = hidden_size, or [T, 2H] of both directions; with "
     "padding, then the tokens [T]",
     read_lstm},
    {"additive_attention", "normalize = true, padding",
     "softmax(v . tanh(q + k + b)) values: of q [T, N], k [S, N] and values [S, C] -> [T, C]; with "
     "padding, then the keys' tokens [S]",
     read_additive_attention},
}};

// A row for each alternative of LayerSpec, in its order (which a test checks).
static_assert(!kKinds.back().name.empty());

}  // namespace

std::span<const LayerKind> layer_kinds() { return kKinds; }

}  // namespace pipetrain
