#include "backend/cuda/device/elementwise.hpp"

#include "backend/cuda/device/device_code.hpp"

namespace pipetrain::cuda {
namespace {

constexpr int kTerms = 8;  // added up per launch

struct Terms {
  const float* values[kTerms];
  int count;
};

// Not `x > 0 ? x : 0`, which would hide a NaN.
__device__ float relu_of(float x) { return x < 0 ? 0 : x; }

__global__ void relu_kernel(const float* x, float* y, std::int64_t elements) {
  for (std::int64_t i = first_index(); i < elements; i += index_step()) y[i] = relu_of(x[i]);
}

__global__ void relu_backward_kernel(const float* y, const float* dy, float* dx,
                                     std::int64_t elements) {
  for (std::int64_t i = first_index(); i < elements; i += index_step())
    dx[i] = y[i] > 0 ? dy[i] : 0;
}

__global__ void add_bias_kernel(float* values, const float* bias, Planes planes, bool with_relu) {
  visit_elements(planes, [&](std::int64_t i, std::int64_t channel) {
    const float sum = values[i] + bias[channel];
    values[i] = with_relu ? relu_of(sum) : sum;
  });
}

__global__ void sum_kernel(Terms terms, float* result, std::int64_t elements, bool with_relu) {
  for (std::int64_t i = first_index(); i < elements; i += index_step()) {
    float sum = terms.values[0][i];
    for (int term = 1; term < kTerms; ++term)  // unrolled: the pointers stay in the parameters
      if (term < terms.count) sum += terms.values[term][i];
    result[i] = with_relu ? relu_of(sum) : sum;
  }
}

__global__ void combine_kernel(float a, const float* x, float b, const float* y, float* result,
                               std::int64_t elements) {
  for (std::int64_t i = first_index(); i < elements; i += index_step())
    result[i] = a * x[i] + b * y[i];
}

__global__ void add_to_rows_kernel(const float* x, const float* term, Planes rows, float* y) {
  visit_elements(rows, [&](std::int64_t i, std::int64_t column) { y[i] = x[i] + term[column]; });
}

__global__ void copy_block_kernel(MatrixBlock<const float*> from, MatrixBlock<float*> to,
                                  Planes rows) {
  visit_elements(rows, [&](std::int64_t i, std::int64_t row) {
    const std::int64_t column = i - row * rows.inner;
    to.first[row * to.stride + column] = from.first[row * from.stride + column];
  });
}

__global__ void spread_kernel(const float* terms, Planes rows, float divisor, float* values) {
  visit_elements(rows, [&](std::int64_t i, std::int64_t row) { values[i] = terms[row] / divisor; });
}

}  // namespace

void apply_relu(cudaStream_t stream, float* values, std::int64_t elements) {
  relu(stream, values, values, elements);
}

void relu(cudaStream_t stream, const float* x, float* y, std::int64_t elements) {
  launch(relu_kernel, blocks_for(elements), kBlock, stream, x, y, elements);
}

void relu_backward(cudaStream_t stream, const float* y, const float* dy, float* dx,
                   std::int64_t elements) {
  launch(relu_backward_kernel, blocks_for(elements), kBlock, stream, y, dy, dx, elements);
}

void add_bias(cudaStream_t stream, float* values, const float* bias, const Planes& planes,
              bool with_relu) {
  launch(add_bias_kernel, blocks_for(planes.elements()), kBlock, stream, values, bias, planes,
         with_relu);
}

// The sum so far is the first term of the next launch: the same bits as in a single one.
void sum(cudaStream_t stream, std::span<const float* const> terms, float* result,
         std::int64_t elements, bool with_relu) {
  Terms next{};
  std::size_t taken = 0;
  do {
    next.count = 0;
    if (taken > 0) next.values[next.count++] = result;
    while (taken < terms.size() && next.count < kTerms) next.values[next.count++] = terms[taken++];
    launch(sum_kernel, blocks_for(elements), kBlock, stream, next, result, elements,
           with_relu && taken == terms.size());
  } while (taken < terms.size());
}

void combine(cudaStream_t stream, float a, const float* x, float b, const float* y, float* result,
             std::int64_t elements) {
  launch(combine_kernel, blocks_for(elements), kBlock, stream, a, x, b, y, result, elements);
}

void add_to_rows(cudaStream_t stream, const float* x, const float* term, std::int64_t rows,
                 std::int64_t columns, float* y) {
  launch(add_to_rows_kernel, blocks_for(rows * columns), kBlock, stream, x, term,
         Planes{rows, columns, 1}, y);
}

void copy_block(cudaStream_t stream, const MatrixBlock<const float*>& from,
                const MatrixBlock<float*>& to, std::int64_t rows, std::int64_t columns) {
  launch(copy_block_kernel, blocks_for(rows * columns), kBlock, stream, from, to,
         Planes{1, rows, columns});
}

void spread(cudaStream_t stream, const float* terms, std::int64_t rows, std::int64_t columns,
            float* values) {
  launch(spread_kernel, blocks_for(rows * columns), kBlock, stream, terms, Planes{1, rows, columns},
         static_cast<float>(columns), values);
}

}  // namespace pipetrain::cuda
