#include "backend/cuda/device/reduce.hpp"

#include "backend/cuda/device/device_code.hpp"

namespace pipetrain::cuda {
namespace {

// Values that many threads add up are cut into slices, by sizes alone: a block adds up one slice,
// and a second kernel the slices, in their order.
constexpr std::int64_t kItems = 1024;             // slices of all sums: enough for any device
constexpr std::int64_t kSlicesMax = 256;          // per sum
constexpr std::int64_t kValuesMin = 16 * kBlock;  // per slice; fewer are not worth a block
constexpr std::int64_t kRowsMin = 16 * kLines;    // the same, in rows
constexpr std::int64_t kSquareBlocks = 1024;      // one block adds up their results
static_assert(kItems * kLanes <= kPartialSumsMax && kSquareBlocks <= kPartialSumsMax);

struct Slices {
  std::int64_t values, count, length;
};

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// `blocks`: the number that it takes to add up one slice of every sum.
Slices slices_of(std::int64_t values, std::int64_t least, std::int64_t blocks) {
  const std::int64_t wanted = std::min({values / least, kItems / blocks, kSlicesMax});
  const std::int64_t count = std::max<std::int64_t>(wanted, 1);
  return {values, count, divided_up(values, count)};
}

// Where sums go: into the gradient, or into `partials`, as parts of it.
struct Target {
  double* partials;  // null: into the gradient
  float* gradient;
  bool accumulate;
};

__device__ void put(const Target& to, std::int64_t place, double sum) {
  if (to.partials)
    to.partials[place] = sum;
  else
    to.gradient[place] = static_cast<float>(to.accumulate ? to.gradient[place] + sum : sum);
}

// Sums of a matrix' columns. A block takes kLanes columns of a slice at a time, one per lane; a
// line takes every kLines-th row.
__global__ void columns_kernel(const float* dy, Slices rows, std::int64_t columns, Target to) {
  __shared__ double sums[kLines][kLanes];
  const unsigned lane = threadIdx.x % kLanes, line = threadIdx.x / kLanes;
  const std::int64_t groups = (columns + kLanes - 1) / kLanes;
  for (std::int64_t item = blockIdx.x; item < groups * rows.count; item += gridDim.x) {
    const std::int64_t slice = item / groups, column = item % groups * kLanes + lane,
                       begin = slice * rows.length, past = begin + rows.length,
                       end = past < rows.values ? past : rows.values;
    double sum = 0;
    if (column < columns)
      for (std::int64_t row = begin + line; row < end; row += kLines)
        sum += dy[row * columns + column];
    sums[line][lane] = sum;
    __syncthreads();
    if (line == 0 && column < columns) {
      for (int other = 1; other < kLines; ++other) sum += sums[other][lane];
      put(to, slice * columns + column, sum);
    }
    __syncthreads();
  }
}

// A block takes one slice of one channel at a time.
__global__ void channels_kernel(const float* dy, Planes planes, Slices values, Target to) {
  __shared__ double shared[kBlock];
  for (std::int64_t item = blockIdx.x; item < planes.channels * values.count; item += gridDim.x) {
    const std::int64_t slice = item / planes.channels, channel = item % planes.channels,
                       begin = slice * values.length, past = begin + values.length;
    double sum = 0;
    visit_channel(planes, channel, begin, past < values.values ? past : values.values,
                  [&](std::int64_t i) { sum += dy[i]; });
    sum = sum_block(sum, shared);
    if (threadIdx.x == 0) put(to, item, sum);
  }
}

// gradient[c] from partials[slices][channels][parts]. A block takes kLanes channels at a time, one
// per lane; a line takes every kLines-th slice.
__global__ void slices_kernel(const double* partials, std::int64_t slices, std::int64_t channels,
                              std::int64_t parts, Target to) {
  __shared__ double sums[kLines][kLanes];
  const unsigned lane = threadIdx.x % kLanes, line = threadIdx.x / kLanes;
  const std::int64_t step = std::int64_t{gridDim.x} * kLanes;
  for (std::int64_t first = std::int64_t{blockIdx.x} * kLanes; first < channels; first += step) {
    const std::int64_t channel = first + lane;
    double sum = 0;
    if (channel < channels)
      for (std::int64_t slice = line; slice < slices; slice += kLines)
        for (std::int64_t part = 0; part < parts; ++part)
          sum += partials[(slice * channels + channel) * parts + part];
    sums[line][lane] = sum;
    __syncthreads();
    if (line == 0 && channel < channels) {
      for (int other = 1; other < kLines; ++other) sum += sums[other][lane];
      put(to, channel, sum);
    }
    __syncthreads();
  }
}

__global__ void row_means_kernel(const float* values, std::int64_t rows, std::int64_t columns,
                                 float* means) {
  __shared__ double shared[kBlock];
  visit_rows(rows, [&](std::int64_t row) {
    double sum = 0;
    if (row < rows)
      visit_row(row, columns, [&](std::int64_t i, std::int64_t) { sum += values[i]; });
    sum = sum_line(sum, shared);
    if (lane_of_block() == 0 && row < rows)
      means[row] = static_cast<float>(sum / static_cast<double>(columns));
  });
}

__global__ void squares_kernel(const float* values, std::int64_t elements, double* partials) {
  __shared__ double shared[kBlock];
  double sum = 0;
  for (std::int64_t i = first_index(); i < elements; i += index_step()) {
    const double value = values[i];
    sum += value * value;
  }
  sum = sum_block(sum, shared);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__global__ void total_kernel(const double* partials, std::int64_t count, double* result) {
  __shared__ double shared[kBlock];
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kBlock) sum += partials[i];
  sum = sum_block(sum, shared);
  if (threadIdx.x == 0) *result = sum;
}

// Directly the gradient if its sums have one part each.
Target target_of(const SumStream& on, std::int64_t parts, const Target& gradient) {
  if (parts == 1) return gradient;
  return {.partials = on.partials, .gradient = nullptr, .accumulate = false};
}

void add_slices(const SumStream& on, std::int64_t slices, std::int64_t channels, std::int64_t parts,
                const Target& gradient) {
  launch(slices_kernel, std::min(divided_up(channels, kLanes), kGrid), kBlock, on.stream,
         on.partials, slices, channels, parts, gradient);
}

// Handles dy as a matrix with `inner` columns per channel: neighbouring threads read neighbouring
// values, however few an image has.
void sum_columns(const SumStream& on, const float* dy, const Planes& planes,
                 const Target& gradient) {
  const std::int64_t columns = planes.channels * planes.inner, groups = divided_up(columns, kLanes);
  const Slices rows = slices_of(planes.samples, kRowsMin, groups);
  const Target to = target_of(on, rows.count * planes.inner, gradient);
  launch(columns_kernel, std::min(groups * rows.count, kGrid), kBlock, on.stream, dy, rows, columns,
         to);
  if (to.partials) add_slices(on, rows.count, planes.channels, planes.inner, gradient);
}

void sum_images(const SumStream& on, const float* dy, const Planes& planes,
                const Target& gradient) {
  const Slices values = slices_of(planes.samples * planes.inner, kValuesMin, planes.channels);
  const Target to = target_of(on, values.count, gradient);
  launch(channels_kernel, std::min(planes.channels * values.count, kGrid), kBlock, on.stream, dy,
         planes, values, to);
  if (to.partials) add_slices(on, values.count, planes.channels, 1, gradient);
}

}  // namespace

void column_sums(const SumStream& on, const float* dy, std::int64_t rows, std::int64_t columns,
                 float* gradient, bool accumulate) {
  channel_sums(on, dy, rows, columns, 1, gradient, accumulate);
}

void channel_sums(const SumStream& on, const float* dy, std::int64_t samples, std::int64_t channels,
                  std::int64_t inner, float* gradient, bool accumulate) {
  const Target to{.partials = nullptr, .gradient = gradient, .accumulate = accumulate};
  const bool fits = inner == 1 || channels * inner <= kPartialSumsMax;
  if (channels == 1)  // contiguous
    sum_images(on, dy, {1, 1, samples * inner}, to);
  else if (inner < kLanes && fits)
    sum_columns(on, dy, {samples, channels, inner}, to);
  else
    sum_images(on, dy, {samples, channels, inner}, to);
}

void row_means(cudaStream_t stream, const float* values, std::int64_t rows, std::int64_t columns,
               float* means) {
  launch(row_means_kernel, blocks_for_rows(rows), kBlock, stream, values, rows, columns, means);
}

void sum_of_squares(const SumStream& on, const float* values, std::int64_t elements,
                    double* result) {
  const std::int64_t blocks = std::min(divided_up(elements, 8 * kBlock), kSquareBlocks);
  launch(squares_kernel, blocks, kBlock, on.stream, values, elements, on.partials);
  launch(total_kernel, 1, kBlock, on.stream, on.partials, blocks, result);
}

}  // namespace pipetrain::cuda
