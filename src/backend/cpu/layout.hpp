// How the values of a graph are laid out in memory. Vectors and, where its readers allow, the
// graph's input are plain row-major. Images are blocked by 16 channels, [samples, ceil(C / 16), H,
// W, 16], and the channels that fill up the last block are zeros always: every layer keeps them so.
// A flattened image that only linear layers read stays as it is; their weights are permuted
// instead.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/element.hpp"
#include "graph/shape.hpp"

namespace pipetrain::cpu {

std::int64_t round_up(std::int64_t count, std::int64_t multiple);

struct ValueLayout {
  bool blocked = false;
  std::int64_t channels = 0, height = 1, width = 1;  // of the image; a vector is channels alone
  Element element = Element::F32;

  std::int64_t pixels() const { return height * width; }
  std::int64_t stored_channels() const;
  std::int64_t elements() const { return channels * pixels(); }                  // of a sample
  std::int64_t stored_elements() const { return stored_channels() * pixels(); }  // of a sample
  std::size_t bytes(std::int64_t samples) const {
    return static_cast<std::size_t>(samples * stored_elements()) * element_bytes(element);
  }
  // Where element `index` of a plain sample is stored in its sample.
  std::int64_t position(std::int64_t index) const;
  // Stored elements are the plain ones in their order.
  bool is_plain() const { return !blocked || (pixels() == 1 && stored_channels() == channels); }
  bool operator==(const ValueLayout&) const = default;
};

ValueLayout plain_layout(const Shape& shape);
ValueLayout blocked_layout(const Shape& image);

// Between the plain order and the stored one, rounded or widened where the elements differ: both
// the same, or the plain one f32.
template <class From, class To>
void to_stored(const ValueLayout& layout, std::int64_t samples, const From* plain, To* stored);
template <class From, class To>
void to_plain(const ValueLayout& layout, std::int64_t samples, const From* stored, To* plain);

}  // namespace pipetrain::cpu
