#include "backend/cpu/layout.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

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

namespace {

template <class From, class To>
void convert(const From* from, To* to, std::int64_t count) {
  if constexpr (std::is_same_v<From, To>)
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(To));
  else if constexpr (std::is_same_v<To, float>)
    element_loops<From>().widen(from, to, count);
  else
    element_loops<To>().narrow(from, to, count);
}

// Of a plain layout, whose elements keep their order.
template <class From, class To>
void convert(const ValueLayout& layout, std::int64_t samples, const From* from, To* to) {
  const std::int64_t each = layout.elements();
  parallel_ranges(samples, kElementWork * samples * each,
                  [&](std::int64_t begin, std::int64_t end) {
                    convert(from + begin * each, to + begin * each, (end - begin) * each);
                  });
}

}  // namespace

template <class From, class To>
void to_stored(const ValueLayout& layout, std::int64_t samples, const From* plain, To* stored) {
  if (layout.is_plain()) return convert(layout, samples, plain, stored);
  const std::int64_t each = layout.stored_elements();
  if (layout.channels % kLanes != 0)
    std::memset(stored, 0, static_cast<std::size_t>(samples * each) * sizeof(To));
  for (std::int64_t n = 0; n < samples; ++n)
    for (std::int64_t i = 0; i < layout.elements(); ++i)
      stored[n * each + layout.position(i)] =
          from_float<To>(to_float(plain[n * layout.elements() + i]));
}

template <class From, class To>
void to_plain(const ValueLayout& layout, std::int64_t samples, const From* stored, To* plain) {
  if (layout.is_plain()) return convert(layout, samples, stored, plain);
  for (std::int64_t n = 0; n < samples; ++n)
    for (std::int64_t i = 0; i < layout.elements(); ++i)
      plain[n * layout.elements() + i] =
          from_float<To>(to_float(stored[n * layout.stored_elements() + layout.position(i)]));
}

template void to_stored(const ValueLayout&, std::int64_t, const float*, float*);
template void to_stored(const ValueLayout&, std::int64_t, const float*, Bf16*);
template void to_stored(const ValueLayout&, std::int64_t, const Bf16*, Bf16*);
template void to_plain(const ValueLayout&, std::int64_t, const float*, float*);
template void to_plain(const ValueLayout&, std::int64_t, const Bf16*, float*);
template void to_plain(const ValueLayout&, std::int64_t, const Bf16*, Bf16*);

}  // namespace pipetrain::cpu
