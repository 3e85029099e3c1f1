// The gradient needs the positions of each token, in order. They are found by a counting sort
// without atomics: one thread per entry of the vocabulary looks at all tokens, once to count and
// once to record. That is 2 x tokens x vocabulary comparisons (0.8 billion for 8192 x 50257), read
// from shared memory.
//
//   tokens  2 0 2 1      begins  0 1 2 4      places  1 | 3 | 0 2
#include "backend/cuda/device/embedding.hpp"

#include "backend/cuda/device/device_code.hpp"

namespace pipetrain::cuda {
namespace {

struct Places {
  std::int32_t* begins;  // where each entry's places begin, and the end: vocabulary + 1
  std::int32_t* places;  // one per token
};

Places places_in(void* memory, const Tokens& in) {
  auto* const begins = static_cast<std::int32_t*>(memory);
  return {begins, begins + in.vocabulary + 1};
}

__global__ void embed_kernel(Tokens in, EmbeddingTable table, Planes rows, float* y) {
  visit_elements(rows, [&](std::int64_t i, std::int64_t row) {
    const std::int64_t column = i - row * rows.inner, token = in.tokens[row];
    const bool known = token >= 0 && token < in.vocabulary;
    y[i] = known ? table.scale * table.weight[token * rows.inner + column] : NAN;
  });
}

// Called by all threads of a block: visit(place, token) for every token, in order.
template <class Visit>
__device__ void visit_tokens(const Tokens& in, std::int32_t* shared, Visit visit) {
  for (std::int64_t first = 0; first < in.count; first += kBlock) {
    const std::int64_t left = in.count - first, count = left < kBlock ? left : kBlock;
    if (threadIdx.x < count) shared[threadIdx.x] = in.tokens[first + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < count; ++i) visit(static_cast<std::int32_t>(first + i), shared[i]);
    __syncthreads();
  }
}

// counts[v] = how often v occurs among the tokens.
__global__ void count_kernel(Tokens in, std::int32_t* counts) {
  __shared__ std::int32_t shared[kBlock];
  const std::int64_t step = index_step();
  for (std::int64_t first = std::int64_t{blockIdx.x} * kBlock; first < in.vocabulary;
       first += step) {
    const std::int64_t entry = first + threadIdx.x;
    std::int32_t count = 0;
    visit_tokens(in, shared,
                 [&](std::int32_t, std::int32_t token) { count += token == entry ? 1 : 0; });
    if (entry < in.vocabulary) counts[entry] = count;
  }
}

// By one block, in place: entry v becomes the sum of counts[0 .. v - 1], for each v up to `count`.
__global__ void begins_kernel(std::int32_t* counts, std::int64_t count) {
  __shared__ std::int32_t shared[kBlock];
  const std::int64_t length = (count + kBlock - 1) / kBlock, begin = threadIdx.x * length,
                     past = begin + length, end = past < count ? past : count;
  std::int32_t sum = 0;
  for (std::int64_t v = begin; v < end; ++v) sum += counts[v];
  shared[threadIdx.x] = sum;
  __syncthreads();
  std::int32_t before = 0;
  for (unsigned other = 0; other < threadIdx.x; ++other) before += shared[other];
  for (std::int64_t v = begin; v < end; ++v) {
    const std::int32_t here = counts[v];
    counts[v] = before;
    before += here;
  }
  if (threadIdx.x == kBlock - 1) counts[count] = before;
}

__global__ void places_kernel(Tokens in, Places to) {
  __shared__ std::int32_t shared[kBlock];
  const std::int64_t step = index_step();
  for (std::int64_t first = std::int64_t{blockIdx.x} * kBlock; first < in.vocabulary;
       first += step) {
    const std::int64_t entry = first + threadIdx.x;
    std::int32_t at = entry < in.vocabulary ? to.begins[entry] : 0;
    visit_tokens(in, shared, [&](std::int32_t place, std::int32_t token) {
      if (token == entry && entry < in.vocabulary) to.places[at++] = place;
    });
  }
}

__global__ void gradient_kernel(Places from, Planes entries, EmbeddingGradient to) {
  visit_elements(entries, [&](std::int64_t i, std::int64_t entry) {
    const std::int64_t column = i - entry * to.columns;
    const std::int32_t begin = from.begins[entry], end = from.begins[entry + 1];
    if (to.accumulate && begin == end) return;
    double sum = to.accumulate ? to.gradient[i] : 0;
    for (std::int32_t place = begin; place < end; ++place)
      sum += double{to.scale} * to.dy[from.places[place] * to.columns + column];
    to.gradient[i] = static_cast<float>(sum);
  });
}

}  // namespace

void embed(cudaStream_t stream, const Tokens& in, const EmbeddingTable& table, float* y) {
  launch(embed_kernel, blocks_for(in.count * table.columns), kBlock, stream, in, table,
         Planes{1, in.count, table.columns}, y);
}

std::size_t embedding_places_bytes(const Tokens& in) {
  return static_cast<std::size_t>(in.vocabulary + 1 + in.count) * sizeof(std::int32_t);
}

void embedding_gradient(cudaStream_t stream, const Tokens& in, void* places,
                        const EmbeddingGradient& to) {
  const Places sorted = places_in(places, in);
  launch(count_kernel, blocks_for(in.vocabulary), kBlock, stream, in, sorted.begins);
  launch(begins_kernel, 1, kBlock, stream, sorted.begins, in.vocabulary);
  launch(places_kernel, blocks_for(in.vocabulary), kBlock, stream, in, sorted);
  launch(gradient_kernel, blocks_for(in.vocabulary * to.columns), kBlock, stream, sorted,
         Planes{1, in.vocabulary, to.columns}, to);
}

}  // namespace pipetrain::cuda
