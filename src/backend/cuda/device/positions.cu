#include "backend/cuda/device/positions.hpp"

#include "backend/cuda/device/device_code.hpp"

namespace pipetrain::cuda {
namespace {

__global__ void sinusoids_kernel(Planes positions, float* table) {
  visit_elements(positions, [&](std::int64_t i, std::int64_t position) {
    const std::int64_t width = positions.inner, column = i - position * width;
    const double exponent = static_cast<double>(column / 2 * 2) / static_cast<double>(width);
    const double angle = static_cast<double>(position) / pow(10000.0, exponent);
    table[i] = static_cast<float>(column % 2 == 0 ? sin(angle) : cos(angle));
  });
}

}  // namespace

void sinusoids(cudaStream_t stream, std::int64_t length, std::int64_t width, float* table) {
  launch(sinusoids_kernel, blocks_for(length * width), kBlock, stream, Planes{1, length, width},
         table);
}

}  // namespace pipetrain::cuda
