#include "backend/cpu/layout.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/bytes_of.hpp"

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
    std::memcpy(to, from, bytes_of<To>(count));
  else if constexpr (std::is_same_v<To, float>)
    element_loops<From>().widen(from, to, count);
  else
    element_loops<To>().narrow(from, to, count);
}

// For a plain layout, whose elements keep their order.
template <class From, class To>
void convert(const ValueLayout& layout, std::int64_t samples, const From* from, To* to) {
  const std::int64_t each = layout.elements();
  parallel_ranges(samples, kElementWork * samples * each,
                  [&](std::int64_t begin, std::int64_t end) {
                    convert(from + begin * each, to + begin * each, (end - begin) * each);
                  });
}

// For a blocked layout: calls visit(index in plain order, index in stored order), a block of 16
// channels at a time.
template <class Visit>
void each_element(const ValueLayout& layout, std::int64_t samples, Visit visit) {
  const std::int64_t pixels = layout.pixels(), blocks = layout.stored_channels() / kLanes;
  parallel_each(samples * blocks, kElementWork * samples * layout.stored_elements(),
                [&](std::int64_t b) {
                  const std::int64_t n = b / blocks, first = b % blocks * kLanes;
                  const std::int64_t plain = n * layout.elements() + first * pixels,
                                     stored = n * layout.stored_elements() + first * pixels;
                  for (std::int64_t c = 0; c < std::min(kLanes, layout.channels - first); ++c)
                    for (std::int64_t i = 0; i < pixels; ++i)
                      visit(plain + c * pixels + i, stored + i * kLanes + c);
                });
}

}  // namespace

template <class From, class To>
void to_stored(const ValueLayout& layout, std::int64_t samples, const From* plain, To* stored) {
  if (layout.is_plain()) return convert(layout, samples, plain, stored);
  if (layout.channels % kLanes != 0)
    std::memset(stored, 0, bytes_of<To>(samples * layout.stored_elements()));
  each_element(layout, samples, [&](std::int64_t from, std::int64_t to) {
    stored[to] = from_float<To>(to_float(plain[from]));
  });
}

template <class From, class To>
void to_plain(const ValueLayout& layout, std::int64_t samples, const From* stored, To* plain) {
  if (layout.is_plain()) return convert(layout, samples, stored, plain);
  each_element(layout, samples, [&](std::int64_t to, std::int64_t from) {
    plain[to] = from_float<To>(to_float(stored[from]));
  });
}

template void to_stored(const ValueLayout&, std::int64_t, const float*, float*);
template void to_stored(const ValueLayout&, std::int64_t, const float*, Bf16*);
template void to_stored(const ValueLayout&, std::int64_t, const Bf16*, Bf16*);
template void to_plain(const ValueLayout&, std::int64_t, const float*, float*);
template void to_plain(const ValueLayout&, std::int64_t, const Bf16*, float*);
template void to_plain(const ValueLayout&, std::int64_t, const Bf16*, Bf16*);

}  // namespace pipetrain::cpu
