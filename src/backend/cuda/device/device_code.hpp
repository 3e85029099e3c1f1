// Device code that the .cu files share: how threads walk over a tensor, and how a block adds up.
//
// Sums are in an order that depends on sizes alone: each thread adds up what it walks over, a block
// adds up its threads' sums, and a second kernel those of the blocks.
#pragma once

#include <cstdint>

#include "backend/cuda/device/launch.hpp"
#include "backend/cuda/device/planes.hpp"

namespace pipetrain::cuda {

// The threads of the grid divide the elements among them:
//   for (i = first_index(); i < elements; i += index_step())
__device__ inline std::int64_t first_index() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t index_step() { return std::int64_t{gridDim.x} * blockDim.x; }

// The threads of the grid divide all elements among them: visit(element, its channel). Divides once
// per thread, not once per element.
template <class Visit>
__device__ void visit_elements(const Planes& planes, Visit visit) {
  const std::int64_t elements = planes.elements(), step = index_step();
  std::int64_t element = first_index();
  if (element >= elements) return;
  const std::int64_t step_planes = step / planes.inner, step_inner = step % planes.inner,
                     step_channels = step_planes % planes.channels;
  std::int64_t inner = element % planes.inner, channel = element / planes.inner % planes.channels;
  for (; element < elements; element += step) {
    visit(element, channel);
    inner += step_inner;
    channel += step_channels;
    if (inner >= planes.inner) inner -= planes.inner, ++channel;
    if (channel >= planes.channels) channel -= planes.channels;
  }
}

// A block's threads divide the values begin .. end - 1 of a channel among them: visit(element).
template <class Visit>
__device__ void visit_channel(const Planes& planes, std::int64_t channel, std::int64_t begin,
                              std::int64_t end, Visit visit) {
  std::int64_t value = begin + threadIdx.x;
  if (value >= end) return;
  const std::int64_t step_samples = blockDim.x / planes.inner,
                     step_inner = blockDim.x % planes.inner;
  std::int64_t sample = value / planes.inner, inner = value % planes.inner;
  for (; value < end; value += blockDim.x) {
    visit((sample * planes.channels + channel) * planes.inner + inner);
    sample += step_samples;
    inner += step_inner;
    if (inner >= planes.inner) inner -= planes.inner, ++sample;
  }
}

struct Sums {  // two at a time
  double a, b;
};
__device__ inline Sums operator+(const Sums& x, const Sums& y) { return {x.a + y.a, x.b + y.b}; }

struct Adding {
  template <class Value>
  __device__ Value operator()(const Value& x, const Value& y) const {
    return x + y;
  }
};

// Combines the values of a block's kBlock threads; every thread gets the result. All threads of the
// block must call it; `shared`: kBlock values, free before and after.
//
//   shared  0 1 2 .. 15 | 16 17 .. 31 | 32 ..       thread t of 16 combines t, t + 16, t + 32 ..
template <class Value, class Combine>
__device__ Value reduce_block(Value value, Value* shared, Combine combine) {
  constexpr unsigned columns = 16;
  shared[threadIdx.x] = value;
  __syncthreads();
  if (threadIdx.x < columns) {
    for (unsigned i = threadIdx.x + columns; i < kBlock; i += columns)
      value = combine(value, shared[i]);
    shared[threadIdx.x] = value;  // no other thread reads this place before the barrier
  }
  __syncthreads();
  Value all = shared[0];
  for (unsigned i = 1; i < columns; ++i) all = combine(all, shared[i]);
  __syncthreads();
  return all;
}

template <class Value>
__device__ Value sum_block(Value value, Value* shared) {
  return reduce_block(value, shared, Adding{});
}

// A block as a matrix: lines of kLanes threads; neighbouring threads read neighbouring elements.
inline constexpr int kLanes = 32;
inline constexpr int kLines = kBlock / kLanes;
__device__ inline unsigned lane_of_block() { return threadIdx.x % kLanes; }
__device__ inline unsigned line_of_block() { return threadIdx.x / kLanes; }

// The rows of a matrix, kLines at a time, one per line: visit(row), called by all threads of a
// block together, so that they may use barriers. The last rows may be past the end.
template <class Visit>
__device__ void visit_rows(std::int64_t rows, Visit visit) {
  const std::int64_t step = std::int64_t{gridDim.x} * kLines;
  for (std::int64_t first = std::int64_t{blockIdx.x} * kLines; first < rows; first += step)
    visit(first + line_of_block());
}

inline std::int64_t blocks_for_rows(std::int64_t rows) {
  return std::min((rows + kLines - 1) / kLines, kGrid);
}

// The threads of a line divide its row among them: visit(element, its column).
template <class Visit>
__device__ void visit_row(std::int64_t row, std::int64_t columns, Visit visit) {
  for (std::int64_t column = lane_of_block(); column < columns; column += kLanes)
    visit(row * columns + column, column);
}

// Adds up the values of each line's threads; each of them gets the sum. All threads of the block
// must call it; `shared`: kBlock values, free before and after.
template <class Value>
__device__ Value sum_line(Value value, Value* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  const Value* const of_line = shared + line_of_block() * kLanes;
  Value all = of_line[0];
  for (int lane = 1; lane < kLanes; ++lane) all = all + of_line[lane];
  __syncthreads();
  return all;
}

}  // namespace pipetrain::cuda
