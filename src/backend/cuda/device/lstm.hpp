// The gates of an lstm by our own device code, one position of all samples at a time. Gates are
// next to each other in the order i f g o, `hidden` values each. Samples whose sequence ended
// before the position get zeros. All work is enqueued on the stream and runs later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace pipetrain::cuda {

struct LstmPosition {
  std::int64_t position, samples, length, hidden;  // length: positions of a sample in memory
  std::int64_t output_stride;                      // of one position
  const std::int32_t* lengths = nullptr;           // of the samples' sequences; null: all `length`

  __host__ __device__ std::int64_t states() const { return samples * hidden; }
};

// lengths[n] = the length of sample n, up to its last token that is not padding.
void lstm_lengths(cudaStream_t stream, const std::int32_t* tokens, std::int64_t samples,
                  std::int64_t length, std::int32_t padding, std::int32_t* lengths);

// Pointers are to the first sample; the next sample is `length` positions further on, except for
// arrays marked [samples].
struct LstmStep {
  LstmPosition at;
  const float *input_bias, *state_bias;  // [4 hidden]; null: none
  float* gates;                          // [4 hidden]; in: sums from the input, out: the gates
  const float* state_sums;               // [samples][4 hidden]; null: 0
  float* cells;                          // [hidden]
  const float* cells_before;             // null: 0; may be the memory of `cells`
  float* h;                              // [samples][hidden]
  float* y;
};
void lstm_step(cudaStream_t stream, const LstmStep& step);

struct LstmBackwardStep {
  LstmPosition at;
  float* gates;               // [4 hidden]; on return the gradients of their sums
  const float* gates_before;  // null: there is no previous position
  float* cells;               // [hidden]; on return the previous state
  const float* cells_before;  // null: there is no previous position
  const float* dy;
  const float* dh;  // from the next position, [samples][hidden]; null: dh and dc are 0
  float* dc;        // in: from the next position; out: for the previous one; [samples][hidden]
  float* sums;      // a second copy of the gradients of the sums, [samples][4 hidden]
};
void lstm_step_backward(cudaStream_t stream, const LstmBackwardStep& step);

}  // namespace pipetrain::cuda
