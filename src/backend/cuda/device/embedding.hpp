// Rows of a table by their tokens, by our own device code. All of it is asked of the stream and
// done later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace pipetrain::cuda {

struct Tokens {
  std::int64_t count, vocabulary;  // fewer than 2^31 of either
  const std::int32_t* tokens;
};

struct EmbeddingTable {
  const float* weight;  // [vocabulary][columns]
  std::int64_t columns;
  float scale;
};
// y[i] = scale weight[tokens[i]]. A token outside the vocabulary gives NaNs.
void embed(cudaStream_t stream, const Tokens& in, const EmbeddingTable& table, float* y);

// Where the tokens' places go while their gradient is made.
std::size_t embedding_places_bytes(const Tokens& in);

struct EmbeddingGradient {
  const float* dy;  // [tokens][columns]
  std::int64_t columns;
  float scale;
  float* gradient;  // [vocabulary][columns]
  bool accumulate;
};
// gradient[v] = the sum of scale dy[i] over the tokens that are v, in their order, or that much
// more.
void embedding_gradient(cudaStream_t stream, const Tokens& in, void* places,
                        const EmbeddingGradient& to);

}  // namespace pipetrain::cuda
