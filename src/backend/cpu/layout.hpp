// How the values of a graph lie in memory. Vectors and, where its readers allow, the graph's input
// are plain row-major. Images are blocked by 16 channels, [samples, ceil(C / 16), H, W, 16], and
// the channels that fill up the last block are zeros always: every layer keeps them so. A flattened
// image that only linear layers read stays as it is; their weights are permuted instead.
#pragma once

#include <cstdint>

#include "graph/graph.hpp"

namespace pipetrain::cpu {

std::int64_t round_up(std::int64_t count, std::int64_t multiple);

struct ValueLayout {
  bool blocked = false;
  std::int64_t channels = 0, height = 1, width = 1;  // of the image; a vector is channels alone

  std::int64_t pixels() const { return height * width; }
  std::int64_t stored_channels() const;
  std::int64_t elements() const { return channels * pixels(); }                  // of a sample
  std::int64_t stored_elements() const { return stored_channels() * pixels(); }  // of a sample
  // Where element `index` of a plain sample is stored in its sample.
  std::int64_t position(std::int64_t index) const;
  // Stored elements are the plain ones in their order.
  bool is_plain() const { return !blocked || (pixels() == 1 && stored_channels() == channels); }
  bool operator==(const ValueLayout&) const = default;
};

ValueLayout plain_layout(const Shape& shape);
ValueLayout blocked_layout(const Shape& image);

void to_stored(const ValueLayout& layout, std::int64_t samples, const float* plain, float* stored);
void to_plain(const ValueLayout& layout, std::int64_t samples, const float* stored, float* plain);

}  // namespace pipetrain::cpu
