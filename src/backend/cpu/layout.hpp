// How the values of a graph are laid out in memory. Vectors are plain row-major, and so is the
// graph's input if its readers allow. Images are in blocks of 16 channels, [samples, ceil(C / 16),
// H, W, 16]; the channels that pad the last block are always zero, and every layer keeps them so. A
// flattened image that only linear layers read stays blocked; their weights are permuted instead.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/element.hpp"
#include "graph/shape.hpp"

namespace pipetrain::cpu {

std::int64_t round_up(std::int64_t count, std::int64_t multiple);

struct ValueLayout {
  bool blocked = false;
  std::int64_t channels = 0, height = 1, width = 1;  // of the image; a vector has channels only
  Element element = Element::F32;

  std::int64_t pixels() const { return height * width; }
  std::int64_t stored_channels() const;
  std::int64_t elements() const { return channels * pixels(); }                  // per sample
  std::int64_t stored_elements() const { return stored_channels() * pixels(); }  // per sample
  std::size_t bytes(std::int64_t samples) const {
    return static_cast<std::size_t>(samples * stored_elements()) * element_bytes(element);
  }
  // Where element `index` of a sample in plain order is stored within the sample.
  std::int64_t position(std::int64_t index) const;
  // Is the stored order the plain one?
  bool is_plain() const { return !blocked || (pixels() == 1 && stored_channels() == channels); }
  bool operator==(const ValueLayout&) const = default;
};

ValueLayout plain_layout(const Shape& shape);
ValueLayout blocked_layout(const Shape& image);

// Convert between plain and stored order, rounding or widening if the element types differ: both
// are the same type, or the plain one is f32.
template <class From, class To>
void to_stored(const ValueLayout& layout, std::int64_t samples, const From* plain, To* stored);
template <class From, class To>
void to_plain(const ValueLayout& layout, std::int64_t samples, const From* stored, To* plain);

}  // namespace pipetrain::cpu
