// What the loops of an lstm's gates work on, a part of SequenceLoops (sequence_loops.hpp): one
// position of all samples. Gates are side by side, i f g o, of `hidden` each. Samples whose
// sequence has ended before the position get zeros.
#pragma once

#include <cstdint>

namespace pipetrain::cpu {

struct LstmPosition {
  std::int64_t position, length, hidden;  // length: positions of a sample in memory
  std::int64_t output_stride;             // of a position
  const std::int32_t* lengths = nullptr;  // of each sample's sequence; null: all positions
};

// Pointers are to the first sample's; `length` positions further is the next one's, but where it
// says [samples].
template <class E>
struct LstmStep {
  LstmPosition at;
  const float* sums;          // of input and bias, [4 hidden]
  const float* recurrent;     // the state's part of the sums, [samples][4 hidden]; null: 0
  E* gates;                   // [4 hidden], may be the memory of sums; null: nobody wants them
  float* cells;               // [hidden]
  const float* cells_before;  // null: 0; may be the memory of cells
  E* h;                       // [samples][hidden]
  E* y;
};

template <class E>
struct LstmBackwardStep {
  LstmPosition at;
  E* gates;                   // [4 hidden]; afterwards the gradients of their sums
  const E* gates_before;      // null: there is no position before
  const float* cells;         // [hidden]
  const float* cells_before;  // null likewise
  E* h_before;                // [hidden], written; may be the memory of cells
  const E* dy;
  const float* dh;  // from the position after, [samples][hidden]; null: it and dc are 0
  float* dc;        // from the position after, then to the one before, [samples][hidden]
  E* sums;          // the same gradients of sums, [samples][4 hidden]
};

}  // namespace pipetrain::cpu
