// A small model of two sides with all that a translation's layers do, and weights for it.
#pragma once

#include <string>

#include "backend/backend.hpp"
#include "checkpoint/parameters.hpp"
#include "config/config.hpp"
#include "graph/read.hpp"

namespace pipetrain::testing {

// Sources of 12, targets of 8 tokens of 20; 0 is padding.
inline const char* const small_translator = R"(
name = "small-translator"
input = { source = 12, target = 8, vocabulary = 20 }
layers = [
  { name = "read", kind = "embedding", embedding_dim = 16, scale = 4, inputs = ["source"] },
  { name = "read_at", kind = "sinusoidal_positions" },
  { name = "read_qkv", kind = "linear", out_features = 48 },
  { name = "read_heads", kind = "attention", heads = 2, padding = 0, inputs = ["read_qkv", "source"] },
  { name = "read_sum", kind = "add", inputs = ["read_heads", "read_at"] },
  { name = "read_norm", kind = "layer_norm" },
  { name = "write", kind = "embedding", embedding_dim = 16, tied = "read", inputs = ["target"] },
  { name = "write_at", kind = "sinusoidal_positions" },
  { name = "write_qkv", kind = "linear", out_features = 48 },
  { name = "write_heads", kind = "attention", heads = 2, causal = true },
  { name = "write_sum", kind = "add", inputs = ["write_heads", "write_at"] },
  { name = "q", kind = "linear", out_features = 16 },
  { name = "kv", kind = "linear", out_features = 32, inputs = ["read_norm"] },
  { name = "heads", kind = "attention", heads = 2, padding = 0, inputs = ["q", "kv", "source"] },
  { name = "sum", kind = "add", inputs = ["heads", "write_sum"] },
  { name = "fc", kind = "linear", out_features = 32 },
  { name = "relu", kind = "relu" },
  { name = "out", kind = "linear", out_features = 16 },
  { name = "norm", kind = "layer_norm" },
  { name = "head", kind = "linear", out_features = 20, bias = false, tied = "read" },
]
)";

// Likewise, of recurrent layers; the decoder's last one reads the target for its padding.
inline const char* const small_recurrent_translator = R"(
name = "small-recurrent-translator"
input = { source = 12, target = 8, vocabulary = 20 }
layers = [
  { name = "read", kind = "embedding", embedding_dim = 16, inputs = ["source"] },
  { name = "both", kind = "lstm", hidden_size = 8, bidirectional = true, padding = 0, inputs = ["read", "source"] },
  { name = "both_drop", kind = "dropout", p = 0.3 },
  { name = "write", kind = "embedding", embedding_dim = 16, tied = "read", inputs = ["target"] },
  { name = "write_at", kind = "learned_positions" },
  { name = "drop", kind = "dropout", p = 0.3 },
  { name = "first", kind = "lstm", hidden_size = 16 },
  { name = "q", kind = "linear", out_features = 16, bias = false },
  { name = "k", kind = "linear", out_features = 16, bias = false, inputs = ["both_drop"] },
  { name = "context", kind = "additive_attention", padding = 0, inputs = ["q", "k", "both_drop", "source"] },
  { name = "with_context", kind = "concat", inputs = ["first", "context"] },
  { name = "second", kind = "lstm", hidden_size = 16 },
  { name = "sum", kind = "add", inputs = ["second", "first"] },
  { name = "third", kind = "lstm", hidden_size = 16, padding = 0, inputs = ["sum", "target"] },
  { name = "head", kind = "linear", out_features = 20, bias = false, tied = "read" },
]
)";

// Sums of many terms, keys of the target at padding, and a mixing layer at the end.
inline const char* const small_wide_translator = R"(
name = "small-wide-translator"
input = { source = 12, target = 8, vocabulary = 20 }
layers = [
  { name = "read", kind = "embedding", embedding_dim = 32, inputs = ["source"] },
  { name = "kv", kind = "linear", out_features = 64 },
  { name = "write", kind = "embedding", embedding_dim = 32, inputs = ["target"] },
  { name = "up", kind = "linear", out_features = 1024 },
  { name = "gelu", kind = "gelu" },
  { name = "down", kind = "linear", out_features = 96 },
  { name = "own", kind = "attention", heads = 2, causal = true, padding = 0, inputs = ["down", "target"] },
  { name = "cross", kind = "attention", heads = 2, inputs = ["own", "kv"] },
  { name = "sum", kind = "add", inputs = ["cross", "own"] },
  { name = "head", kind = "linear", out_features = 20 },
  { name = "head_at", kind = "learned_positions" },
]
)";

inline Config small_config(const std::string& backend, const std::string& precision = "f32") {
  Config config;
  config.hardware.backend = backend;
  config.training.precision = word_named<Precision>(precision).value();
  config.data.bucket_multiple = 4;
  return config;
}

}  // namespace pipetrain::testing
