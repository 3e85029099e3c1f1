// The operands of the loops of additive attention, a part of SequenceLoops (sequence_loops.hpp).
#pragma once

#include <cstdint>

namespace pipetrain::cpu {

// For one sample. The keys that take part are listed, so that loops skip the others.
struct AdditiveLoop {
  std::int64_t queries, units, width;  // width: of values and outputs
  std::int64_t key_rows;
  std::int64_t keys;                   // how many take part
  const std::int32_t* kept = nullptr;  // their rows; null: all key_rows
  const float* v;                      // [units]
  const float* bias = nullptr;         // [units]; null: none
};
// The first row of each; in forward, `queries` is the one query's row.
template <class E>
struct AdditiveRows {
  E *queries, *keys, *values;
};
template <class E>
struct AdditiveBackward {
  AdditiveRows<const E> in;
  const E* dy;
  const float* p;             // [queries][key_rows], as forward left it
  AdditiveRows<E> gradients;  // null: not wanted. 0 for keys that take no part
  float *v, *bias;            // gradients of v and the bias, [units] each, overwritten
};

// In floats.
std::int64_t additive_scratch(const AdditiveLoop& loop);
std::int64_t additive_backward_scratch(const AdditiveLoop& loop);

}  // namespace pipetrain::cpu
