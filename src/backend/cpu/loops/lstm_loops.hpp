// The operands of the loops over an lstm's gates, a part of SequenceLoops (sequence_loops.hpp), for
// one position of all samples. Gates are next to each other in the order i f g o, `hidden` values
// each. Samples whose sequence ended before the position get zeros.
#pragma once

#include <cstdint>

namespace pipetrain::cpu {

struct LstmPosition {
  std::int64_t position, length, hidden;  // length: positions of a sample in memory
  std::int64_t output_stride;             // of one position
  const std::int32_t* lengths = nullptr;  // of the samples' sequences; null: all `length`
};

// Pointers are to the first sample; the next sample is `length` positions further on, except for
// arrays marked [samples].
template <class E>
struct LstmStep {
  LstmPosition at;
  const float* sums;          // from input and bias, [4 hidden]
  const float* recurrent;     // the state's part of the sums, [samples][4 hidden]; null: 0
  E* gates;                   // [4 hidden], may be the memory of `sums`; null: not wanted
  float* cells;               // [hidden]
  const float* cells_before;  // null: 0; may be the memory of `cells`
  E* h;                       // [samples][hidden]
  E* y;
};

template <class E>
struct LstmBackwardStep {
  LstmPosition at;
  E* gates;                   // [4 hidden]; on return the gradients of their sums
  const E* gates_before;      // null: there is no previous position
  const float* cells;         // [hidden]
  const float* cells_before;  // null: there is no previous position
  E* h_before;                // [hidden], written; may be the memory of `cells`
  const E* dy;
  const float* dh;  // from the next position, [samples][hidden]; null: dh and dc are 0
  float* dc;        // in: from the next position; out: for the previous one; [samples][hidden]
  E* sums;          // a second copy of the gradients of the sums, [samples][4 hidden]
};

}  // namespace pipetrain::cpu
