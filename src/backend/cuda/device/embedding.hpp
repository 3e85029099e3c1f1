// Looks up rows of a table by token, by our own device code. All work is enqueued on the stream and
// runs later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace pipetrain::cuda {

struct Tokens {
  std::int64_t count, vocabulary;  // each less than 2^31
  const std::int32_t* tokens;
};

struct EmbeddingTable {
  const float* weight;  // [vocabulary][columns]
  std::int64_t columns;
  float scale;
};
// y[i] = scale weight[tokens[i]]. A token outside the vocabulary gives NaNs.
void embed(cudaStream_t stream, const Tokens& in, const EmbeddingTable& table, float* y);

// Size of the list of the tokens' places that embedding_gradient() needs.
std::size_t embedding_places_bytes(const Tokens& in);

struct EmbeddingGradient {
  const float* dy;  // [tokens][columns]
  std::int64_t columns;
  float scale;
  float* gradient;  // [vocabulary][columns]
  bool accumulate;
};
// gradient[v] = the sum of scale dy[i] over the tokens i that equal v, in their order; with
// `accumulate`, added to the gradient.
void embedding_gradient(cudaStream_t stream, const Tokens& in, void* places,
                        const EmbeddingGradient& to);

}  // namespace pipetrain::cuda
