// What the loops of additive attention work on, a part of SequenceLoops (sequence_loops.hpp).
#pragma once

#include <cstdint>

namespace pipetrain::cpu {

// Of one sample. The keys that take part are listed, so that no loop meets the others.
struct AdditiveLoop {
  std::int64_t queries, units, width;  // width: of values and outputs
  std::int64_t key_rows;
  std::int64_t keys;                   // that take part
  const std::int32_t* kept = nullptr;  // the row of each; null: all key_rows
  const float* v;                      // [units]
  const float* bias = nullptr;         // [units]; null: none
};
// The first row of each; of queries in forward, the one row.
template <class E>
struct AdditiveRows {
  E *queries, *keys, *values;
};
template <class E>
struct AdditiveBackward {
  AdditiveRows<const E> in;
  const E* dy;
  const float* p;             // [queries][key_rows], as forward left it
  AdditiveRows<E> gradients;  // null: nobody wants these. 0 of keys that take no part
  float *v, *bias;            // gradients of these, [units] each, overwritten
};

// In floats.
std::int64_t additive_scratch(const AdditiveLoop& loop);
std::int64_t additive_backward_scratch(const AdditiveLoop& loop);

}  // namespace pipetrain::cpu
