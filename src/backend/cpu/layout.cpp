#include "backend/cpu/layout.hpp"

#include <algorithm>
#include <cstring>

#include "backend/cpu/parallel.hpp"
#include "backend/cpu/vector_loops.hpp"

namespace pipetrain::cpu {

std::int64_t round_up(std::int64_t count, std::int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

std::int64_t ValueLayout::stored_channels() const {
  return blocked ? round_up(channels, kLanes) : channels;
}

std::int64_t ValueLayout::position(std::int64_t index) const {
  if (!blocked) return index;
  const std::int64_t channel = index / pixels(), pixel = index % pixels();
  return (channel / kLanes * pixels() + pixel) * kLanes + channel % kLanes;
}

ValueLayout plain_layout(const Shape& shape) {
  if (shape.dims.size() != 3) return {.blocked = false, .channels = shape.elements()};
  return {
      .blocked = false, .channels = shape.dims[0], .height = shape.dims[1], .width = shape.dims[2]};
}

ValueLayout blocked_layout(const Shape& image) {
  ValueLayout layout = plain_layout(image);
  layout.blocked = true;
  return layout;
}

void to_stored(const ValueLayout& layout, std::int64_t samples, const float* plain, float* stored) {
  const auto bytes = static_cast<std::size_t>(samples * layout.stored_elements()) * sizeof(float);
  if (layout.is_plain()) {
    const std::int64_t each = layout.stored_elements();
    parallel_ranges(samples, kElementWork * samples * each,
                    [&](std::int64_t begin, std::int64_t end) {
                      std::memcpy(stored + begin * each, plain + begin * each,
                                  static_cast<std::size_t>((end - begin) * each) * sizeof(float));
                    });
    return;
  }
  if (layout.channels % kLanes != 0) std::memset(stored, 0, bytes);
  for (std::int64_t n = 0; n < samples; ++n)
    for (std::int64_t i = 0; i < layout.elements(); ++i)
      stored[n * layout.stored_elements() + layout.position(i)] = plain[n * layout.elements() + i];
}

void to_plain(const ValueLayout& layout, std::int64_t samples, const float* stored, float* plain) {
  for (std::int64_t n = 0; n < samples; ++n)
    for (std::int64_t i = 0; i < layout.elements(); ++i)
      plain[n * layout.elements() + i] = stored[n * layout.stored_elements() + layout.position(i)];
}

}  // namespace pipetrain::cpu
