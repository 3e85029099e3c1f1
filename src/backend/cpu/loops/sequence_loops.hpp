// The inner loops of the layers of language models, a part of ElementLoops (vector_loops.hpp), over
// rows of a sequence, stored as float or Bf16. Parameters, statistics and sums are f32 with both.
#pragma once

#include <cstdint>

#include "backend/cpu/loops/additive_loops.hpp"
#include "backend/cpu/loops/lstm_loops.hpp"

namespace pipetrain::cpu {

struct LayerNormLoop {
  std::int64_t width;
  float eps;
  const float *gamma, *beta;  // beta may be null
};
// The gradients of gamma and beta, for columns begin .. end - 1.
struct LayerNormWeightLoop {
  std::int64_t rows, width;
  float *gamma, *beta;  // beta may be null
  bool accumulate;
};

// One head of one sample: head_width values of each row; rows are a stride apart. Keys that take no
// part are left out when the others are packed, so that loops skip them.
struct AttentionLoop {
  std::int64_t queries, key_rows;  // in rows
  std::int64_t head_width;
  std::int64_t query_stride, key_stride, output_stride;
  bool causal;
  float scale;
  std::int64_t keys;                   // how many take part
  const std::int32_t* kept = nullptr;  // their rows; null: all key_rows
  const std::int32_t* seen = nullptr;  // how many of those a query sees; null: none is left out
};
// The first row of the head's columns, of inputs or of their gradients. null: not wanted.
template <class E>
struct AttentionRows {
  E *queries, *keys, *values;
};
constexpr std::int64_t kAttentionRows = 64;  // of a block in backward
constexpr std::int64_t kProductRows = 6;     // of a product's tile

struct RowSoftmax {  // exp(s - largest) / sum
  float largest, sum;
};

template <class E>
struct SequenceLoops {
  // statistics: mean and 1 / sqrt(var + eps) of each row; or null
  void (*layer_norm)(const LayerNormLoop&, std::int64_t rows, const E* x, E* y, float* statistics);
  void (*layer_norm_backward)(const LayerNormLoop&, std::int64_t rows, const E* x,
                              const float* statistics, const E* dy, E* dx);
  void (*layer_norm_weight)(const LayerNormWeightLoop&, const E* x, const float* statistics,
                            const E* dy, std::int64_t begin, std::int64_t end);

  void (*add_table)(const E* x, const float* table, E* y, std::int64_t count);
  void (*scale_row)(const float* row, float scale, E* y, std::int64_t count);
  void (*add_scaled)(float* sum, const E* values, float scale, std::int64_t count);
  // sum[c] = sum over rows of values[row][c], for columns begin .. end - 1
  void (*column_sums)(const E* values, std::int64_t rows, std::int64_t width, float* sum,
                      bool accumulate, std::int64_t begin, std::int64_t end);

  // softmax: [queries], or null. Scratch: attention_scratch() floats.
  void (*attention)(const AttentionLoop&, const AttentionRows<const E>&, E* y, RowSoftmax* softmax,
                    float* scratch);
  // Keys that take no part get gradients of 0.
  void (*attention_backward)(const AttentionLoop&, const AttentionRows<const E>&,
                             const RowSoftmax* softmax, const E* dy,
                             const AttentionRows<E>& gradients, float* scratch);

  // One query. p: [keys], for those that take part. Scratch: additive_scratch() floats.
  void (*additive_attention)(const AdditiveLoop&, const AdditiveRows<const E>&, float* p, E* y,
                             float* scratch);
  // All queries of a sample. Scratch: additive_backward_scratch() floats.
  void (*additive_attention_backward)(const AdditiveLoop&, const AdditiveBackward<E>&,
                                      float* scratch);

  // For samples begin .. end - 1, at one position.
  void (*lstm_step)(const LstmStep<E>&, std::int64_t begin, std::int64_t end);
  void (*lstm_step_backward)(const LstmBackwardStep<E>&, std::int64_t begin, std::int64_t end);

  // largest: of y; sum_of_exps: the sum of exp(y - largest).
  float (*largest)(const E* y, std::int64_t count);
  double (*sum_of_exps)(const E* y, std::int64_t count, float largest);
  void (*exps)(const E* y, std::int64_t count, float largest, float scale, E* to);  // scale exp()
  // How many of y are not below `value` (a NaN is not below); without `ties`, equal ones do not
  // count.
  std::int64_t (*not_below)(const E* y, std::int64_t count, float value, bool ties);
};

// In floats.
std::int64_t attention_scratch(const AttentionLoop& loop);
std::int64_t attention_backward_scratch(const AttentionLoop& loop);

}  // namespace pipetrain::cpu
