#include "backend/cuda/device/dropout.hpp"

#include "backend/cuda/device/device_code.hpp"

namespace pipetrain::cuda {
namespace {

struct Numbers {
  std::uint32_t of[4];
};

// Philox4x32-10 (base/rng.cpp), number for number.
__device__ Numbers draw_block(std::uint64_t key, std::uint64_t counter, std::uint64_t stream) {
  Numbers c = {{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
                static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}};
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c.of[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c.of[2];
    c = {{static_cast<std::uint32_t>(p1 >> 32) ^ c.of[1] ^ k0, static_cast<std::uint32_t>(p1),
          static_cast<std::uint32_t>(p0 >> 32) ^ c.of[3] ^ k1, static_cast<std::uint32_t>(p0)}};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// Element i is number i % 4 of block i / 4: a thread takes the four elements of one block.
__global__ void drop_kernel(MaskDraw draw, const float* from, float* to, std::int64_t elements) {
  const std::int64_t blocks = (elements + 3) / 4;
  for (std::int64_t block = first_index(); block < blocks; block += index_step()) {
    const Numbers numbers = draw_block(draw.key, static_cast<std::uint64_t>(block), draw.stream);
    for (int number = 0; number < 4; ++number) {
      const std::int64_t i = 4 * block + number;
      if (i < elements)
        to[i] = from[i] * (numbers.of[number] < draw.dropped_below ? 0.0f : draw.scale);
    }
  }
}

}  // namespace

void drop(cudaStream_t stream, const MaskDraw& draw, const float* from, float* to,
          std::int64_t elements) {
  launch(drop_kernel, blocks_for((elements + 3) / 4), kBlock, stream, draw, from, to, elements);
}

}  // namespace pipetrain::cuda
