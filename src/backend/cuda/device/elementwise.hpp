// Elementwise operations, by our own device code. A result may share memory with one of the
// operands; that of sum() only with its first term. All work is enqueued on the stream and runs
// later; with no elements, nothing is enqueued.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "backend/cuda/device/planes.hpp"

namespace pipetrain::cuda {

// values = max(values, 0), in place. A NaN stays a NaN.
void apply_relu(cudaStream_t stream, float* values, std::int64_t elements);
void relu(cudaStream_t stream, const float* x, float* y, std::int64_t elements);
// dx = dy where y > 0, else 0.
void relu_backward(cudaStream_t stream, const float* y, const float* dy, float* dx,
                   std::int64_t elements);

// values[n][c][i] += bias[c], in place; with_relu: then max(.., 0).
void add_bias(cudaStream_t stream, float* values, const float* bias, const Planes& planes,
              bool with_relu);

// result = the terms added up in their order, in f32; with_relu: then max(.., 0). Any number of
// terms, but at least one.
void sum(cudaStream_t stream, std::span<const float* const> terms, float* result,
         std::int64_t elements, bool with_relu);

// result = a x + b y.
void combine(cudaStream_t stream, float a, const float* x, float b, const float* y, float* result,
             std::int64_t elements);

// y[row] = x[row] + term, for each row.
void add_to_rows(cudaStream_t stream, const float* x, const float* term, std::int64_t rows,
                 std::int64_t columns, float* y);

// Part of a matrix: its row r begins at first + r * stride. copy_block() copies one to another.
template <class Pointer>
struct MatrixBlock {
  Pointer first;
  std::int64_t stride;
};
void copy_block(cudaStream_t stream, const MatrixBlock<const float*>& from,
                const MatrixBlock<float*>& to, std::int64_t rows, std::int64_t columns);

// values[row][0 .. columns - 1] = terms[row] / columns.
void spread(cudaStream_t stream, const float* terms, std::int64_t rows, std::int64_t columns,
            float* values);

}  // namespace pipetrain::cuda
