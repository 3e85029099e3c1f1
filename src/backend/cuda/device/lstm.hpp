// The gates of an lstm by our own device code, one position of all samples at a time. Gates are
// side by side, i f g o, of `hidden` each. Samples whose sequence has ended before the position get
// zeros. All of it is asked of the stream and done later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace pipetrain::cuda {

struct LstmPosition {
  std::int64_t position, samples, length, hidden;  // length: positions of a sample in memory
  std::int64_t output_stride;                      // of a position
  const std::int32_t* lengths = nullptr;           // of each sample's sequence; null: all positions

  __host__ __device__ std::int64_t states() const { return samples * hidden; }
};

// lengths[n] = up to the last of a sample's tokens that is not padding.
void lstm_lengths(cudaStream_t stream, const std::int32_t* tokens, std::int64_t samples,
                  std::int64_t length, std::int32_t padding, std::int32_t* lengths);

// Pointers are to the first sample's; `length` positions further is the next one's, but where it
// says [samples].
struct LstmStep {
  LstmPosition at;
  const float *input_bias, *state_bias;  // [4 hidden]; null: none
  float* gates;                          // [4 hidden]: the input's sums become the gates
  const float* state_sums;               // [samples][4 hidden]; null: 0
  float* cells;                          // [hidden]
  const float* cells_before;             // null: 0; may be the memory of cells
  float* h;                              // [samples][hidden]
  float* y;
};
void lstm_step(cudaStream_t stream, const LstmStep& step);

struct LstmBackwardStep {
  LstmPosition at;
  float* gates;               // [4 hidden]; afterwards the gradients of their sums
  const float* gates_before;  // null: there is no position before
  float* cells;               // [hidden]; afterwards the state before
  const float* cells_before;  // null likewise
  const float* dy;
  const float* dh;  // from the position after, [samples][hidden]; null: it and dc are 0
  float* dc;        // from the position after, then to the one before, [samples][hidden]
  float* sums;      // the same gradients of sums, [samples][4 hidden]
};
void lstm_step_backward(cudaStream_t stream, const LstmBackwardStep& step);

}  // namespace pipetrain::cuda
