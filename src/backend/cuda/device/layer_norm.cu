// A line of a block takes one row. For the gradients of the parameters, which are sums over the
// rows, the rows are cut into slices: a block adds up some columns of one slice, then one thread
// per column adds up its slices, in their order. Variances are taken about the row's mean, so that
// nothing cancels.
#include "backend/cuda/device/layer_norm.hpp"

#include "backend/cuda/device/device_code.hpp"
#include "base/bytes_of.hpp"

namespace pipetrain::cuda {
namespace {

constexpr std::int64_t kSliceMin = 8 * kLines;  // rows; fewer are not worth a block
constexpr std::int64_t kItems = 1024;           // slices of all columns: enough for any device
constexpr std::int64_t kSlicesMax = 64;         // per column: one thread adds them up

struct Slices {
  std::int64_t count, length, groups;  // slices, rows of a slice, groups of kLanes columns
};

Slices slices_of(const Rows& size) {
  const std::int64_t groups = (size.columns + kLanes - 1) / kLanes;
  const std::int64_t wanted = std::min({size.rows / kSliceMin, kItems / groups, kSlicesMax});
  const std::int64_t count = std::max<std::int64_t>(wanted, 1);
  return {count, (size.rows + count - 1) / count, groups};
}

// Called by all threads of a block: the statistics of each line's row.
__device__ RowStatistics measure_row(const LayerNormForward& n, std::int64_t row, double* shared) {
  const auto count = static_cast<double>(n.size.columns);
  const bool here = row < n.size.rows;
  double sum = 0, squares = 0;
  if (here) visit_row(row, n.size.columns, [&](std::int64_t i, std::int64_t) { sum += n.x[i]; });
  const double mean = sum_line(sum, shared) / count;
  if (here)
    visit_row(row, n.size.columns, [&](std::int64_t i, std::int64_t) {
      const double centred = n.x[i] - mean;
      squares += centred * centred;
    });
  return {mean, 1 / sqrt(sum_line(squares, shared) / count + n.eps)};
}

__global__ void layer_norm_kernel(LayerNormForward n) {
  __shared__ double shared[kBlock];
  visit_rows(n.size.rows, [&](std::int64_t row) {
    const RowStatistics of = measure_row(n, row, shared);
    if (row >= n.size.rows) return;
    if (n.statistics && lane_of_block() == 0) n.statistics[row] = of;
    visit_row(row, n.size.columns, [&](std::int64_t i, std::int64_t column) {
      const auto normal = static_cast<float>((n.x[i] - of.mean) * of.scale);
      n.y[i] = normal * n.gamma[column] + (n.beta ? n.beta[column] : 0);
    });
  });
}

__device__ float normal_at(const LayerNormBackward& in, std::int64_t row, std::int64_t i) {
  const auto [mean, scale] = in.statistics[row];
  return static_cast<float>((in.x[i] - mean) * scale);
}

__global__ void input_gradient_kernel(LayerNormBackward in, const float* gamma, float* dx) {
  __shared__ Sums shared[kBlock];
  const auto count = static_cast<double>(in.size.columns);
  visit_rows(in.size.rows, [&](std::int64_t row) {
    Sums sums{0, 0};
    if (row < in.size.rows)
      visit_row(row, in.size.columns, [&](std::int64_t i, std::int64_t column) {
        const double g = double{gamma[column]} * in.dy[i];
        sums = sums + Sums{g, g * normal_at(in, row, i)};
      });
    sums = sum_line(sums, shared);
    if (row >= in.size.rows) return;
    const auto scale = static_cast<float>(in.statistics[row].scale),
               shift = static_cast<float>(sums.a / count),
               slope = static_cast<float>(sums.b / count);
    visit_row(row, in.size.columns, [&](std::int64_t i, std::int64_t column) {
      dx[i] = scale * (gamma[column] * in.dy[i] - shift - normal_at(in, row, i) * slope);
    });
  });
}

// A block takes kLanes columns of a slice at a time, one per lane; a line takes every kLines-th
// row.
__global__ void products_kernel(LayerNormBackward in, Slices slices, Sums* partials) {
  __shared__ Sums shared[kBlock];
  for (std::int64_t item = blockIdx.x; item < slices.groups * slices.count; item += gridDim.x) {
    const std::int64_t slice = item / slices.groups,
                       column = item % slices.groups * kLanes + lane_of_block(),
                       begin = slice * slices.length, past = begin + slices.length,
                       end = past < in.size.rows ? past : in.size.rows;
    Sums sums{0, 0};
    if (column < in.size.columns)
      for (std::int64_t row = begin + line_of_block(); row < end; row += kLines) {
        const std::int64_t i = row * in.size.columns + column;
        const double dy = in.dy[i];
        sums = sums + Sums{dy * normal_at(in, row, i), dy};
      }
    shared[threadIdx.x] = sums;
    __syncthreads();
    if (line_of_block() == 0 && column < in.size.columns) {
      for (int line = 1; line < kLines; ++line)
        sums = sums + shared[line * kLanes + lane_of_block()];
      partials[slice * in.size.columns + column] = sums;
    }
    __syncthreads();
  }
}

__device__ void put(float& to, double sum, bool accumulate) {
  to = static_cast<float>(accumulate ? to + sum : sum);
}

__global__ void parameter_gradients_kernel(const Sums* partials, std::int64_t slices,
                                           std::int64_t columns, LayerNormGradients to) {
  for (std::int64_t column = first_index(); column < columns; column += index_step()) {
    Sums sums{0, 0};
    for (std::int64_t slice = 0; slice < slices; ++slice)
      sums = sums + partials[slice * columns + column];
    put(to.gamma[column], sums.a, to.accumulate);
    if (to.beta) put(to.beta[column], sums.b, to.accumulate);
  }
}

}  // namespace

void layer_norm(cudaStream_t stream, const LayerNormForward& n) {
  launch(layer_norm_kernel, blocks_for_rows(n.size.rows), kBlock, stream, n);
}

void layer_norm_input_gradient(cudaStream_t stream, const LayerNormBackward& in, const float* gamma,
                               float* dx) {
  launch(input_gradient_kernel, blocks_for_rows(in.size.rows), kBlock, stream, in, gamma, dx);
}

std::size_t layer_norm_partials_bytes(const Rows& size) {
  return bytes_of<Sums>(slices_of(size).count * size.columns);
}

void layer_norm_parameter_gradients(cudaStream_t stream, const LayerNormBackward& in,
                                    void* partials, const LayerNormGradients& to) {
  const Slices slices = slices_of(in.size);
  auto* const sums = static_cast<Sums*>(partials);
  launch(products_kernel, std::min(slices.groups * slices.count, kGrid), kBlock, stream, in, slices,
         sums);
  launch(parameter_gradients_kernel, blocks_for(in.size.columns), kBlock, stream, sums,
         slices.count, in.size.columns, to);
}

}  // namespace pipetrain::cuda
