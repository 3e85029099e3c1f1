// A thread has one state of one sample: its four gates and its cell, which no other thread touches.
#include "backend/cuda/device/lstm.hpp"

#include "backend/cuda/device/device_code.hpp"

namespace pipetrain::cuda {
namespace {

constexpr int kGates = 4;

__device__ float sigmoid(float x) { return 1 / (1 + expf(-x)); }

// Where a state is: its sample, its index in the sample, and the row, counted from the first
// sample's.
struct Place {
  std::int64_t sample, j, row;
  bool ended;
};
__device__ Place place_of(const LstmPosition& at, std::int64_t state) {
  const std::int64_t sample = state / at.hidden;
  return {sample, state % at.hidden, sample * at.length,
          at.lengths && at.position >= at.lengths[sample]};
}

__global__ void lengths_kernel(const std::int32_t* tokens, std::int64_t samples,
                               std::int64_t length, std::int32_t padding, std::int32_t* lengths) {
  for (std::int64_t n = first_index(); n < samples; n += index_step()) {
    std::int64_t end = length;
    while (end > 0 && tokens[n * length + end - 1] == padding) --end;
    lengths[n] = static_cast<std::int32_t>(end);
  }
}

__device__ float gate_sum(const LstmStep& s, const Place& at, int gate) {
  const std::int64_t hidden = s.at.hidden, column = gate * hidden + at.j;
  float sum = s.gates[at.row * kGates * hidden + column];
  if (s.input_bias) sum += s.input_bias[column] + s.state_bias[column];
  if (s.state_sums) sum += s.state_sums[at.sample * kGates * hidden + column];
  return sum;
}

__global__ void step_kernel(LstmStep s) {
  const std::int64_t hidden = s.at.hidden;
  for (std::int64_t state = first_index(); state < s.at.states(); state += index_step()) {
    const Place at = place_of(s.at, state);
    float gates[kGates] = {}, cell = 0, h = 0;
    if (!at.ended) {
      PIPETRAIN_UNROLL
      for (int k = 0; k < kGates; ++k) {
        const float sum = gate_sum(s, at, k);
        gates[k] = k == 2 ? tanhf(sum) : sigmoid(sum);
      }
      cell = gates[0] * gates[2];
      if (s.cells_before) cell += gates[1] * s.cells_before[at.row * hidden + at.j];
      h = gates[3] * tanhf(cell);
    }
    PIPETRAIN_UNROLL
    for (int k = 0; k < kGates; ++k) s.gates[(at.row * kGates + k) * hidden + at.j] = gates[k];
    s.cells[at.row * hidden + at.j] = cell;
    s.h[state] = h;
    s.y[at.row * s.at.output_stride + at.j] = h;
  }
}

struct StateGradients {
  float sums[kGates] = {};
  float dc = 0, h_before = 0;
};

__device__ StateGradients gradients_of(const LstmBackwardStep& s, const Place& at,
                                       std::int64_t state) {
  const std::int64_t hidden = s.at.hidden, first = at.row * kGates * hidden + at.j;
  const float i = s.gates[first], f = s.gates[first + hidden], g = s.gates[first + 2 * hidden],
              o = s.gates[first + 3 * hidden];
  const float before = s.gates_before ? s.cells_before[at.row * hidden + at.j] : 0;
  const float bent = tanhf(s.cells[at.row * hidden + at.j]);
  float of_h = s.dy[at.row * s.at.output_stride + at.j];
  if (s.dh) of_h += s.dh[state];
  float of_c = of_h * o * (1 - bent * bent);
  if (s.dh) of_c += s.dc[state];
  StateGradients to;
  to.sums[0] = of_c * g * i * (1 - i);
  to.sums[1] = of_c * before * f * (1 - f);
  to.sums[2] = of_c * i * (1 - g * g);
  to.sums[3] = of_h * bent * o * (1 - o);
  to.dc = of_c * f;
  if (s.gates_before) to.h_before = s.gates_before[first + 3 * hidden] * tanhf(before);
  return to;
}

__global__ void step_backward_kernel(LstmBackwardStep s) {
  const std::int64_t hidden = s.at.hidden;
  for (std::int64_t state = first_index(); state < s.at.states(); state += index_step()) {
    const Place at = place_of(s.at, state);
    const StateGradients of = at.ended ? StateGradients{} : gradients_of(s, at, state);
    PIPETRAIN_UNROLL
    for (int k = 0; k < kGates; ++k) {
      s.gates[(at.row * kGates + k) * hidden + at.j] = of.sums[k];
      s.sums[(at.sample * kGates + k) * hidden + at.j] = of.sums[k];
    }
    s.cells[at.row * hidden + at.j] = of.h_before;
    s.dc[state] = of.dc;
  }
}

}  // namespace

void lstm_lengths(cudaStream_t stream, const std::int32_t* tokens, std::int64_t samples,
                  std::int64_t length, std::int32_t padding, std::int32_t* lengths) {
  launch(lengths_kernel, blocks_for(samples), kBlock, stream, tokens, samples, length, padding,
         lengths);
}

void lstm_step(cudaStream_t stream, const LstmStep& step) {
  launch(step_kernel, blocks_for(step.at.states()), kBlock, stream, step);
}

void lstm_step_backward(cudaStream_t stream, const LstmBackwardStep& step) {
  launch(step_backward_kernel, blocks_for(step.at.states()), kBlock, stream, step);
}

}  // namespace pipetrain::cuda
