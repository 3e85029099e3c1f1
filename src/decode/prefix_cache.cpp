#include "decode/prefix_cache.hpp"

#include "base/check.hpp"

namespace pipetrain {

PrefixCache::PrefixCache(Stream& stream, StageMemory& memory, int rows, std::size_t position_bytes)
    : stream_(stream),
      rows_(rows),
      position_bytes_(position_bytes),
      room_(stream, memory, Use::Activations) {}

template <class Body>
void PrefixCache::each_run(bool all, std::span<const int> from, Body body) const {
  const auto source = [&](std::size_t r) { return static_cast<std::size_t>(from[r]); };
  for (std::size_t r = 0; r < rows_;) {
    Run run{r, 1, source(r)};
    while (r + run.count < rows_ && source(r + run.count) == run.from + run.count) ++run.count;
    if (all || run.from != run.first) body(run);
    r += run.count;
  }
}

// Copies through `spare`, in which rows are packed: another row may need a row before it is
// overwritten. Positions are only ever added, so those after the first `positions` are zero.
void PrefixCache::arrange(std::int64_t length, std::int64_t positions, std::span<const int> from,
                          std::byte* spare) {
  PIPETRAIN_CHECK(from.size() == rows_ && positions <= length, "{} rows, {} of {} positions",
                  from.size(), positions, length);
  const bool longer = length != length_;
  const std::size_t bytes = static_cast<std::size_t>(positions) * position_bytes_;
  if (bytes > 0)
    each_run(longer, from, [&](const Run& run) {
      stream_.copy_rows(
          {spare + run.first * bytes, bytes, row(run.from), row_bytes(), bytes, run.count});
    });
  if (longer) {
    length_ = 0;
    const std::size_t all = rows_ * static_cast<std::size_t>(length) * position_bytes_;
    stream_.clear(room_.reserve(all), all);
    length_ = length;
  }
  if (bytes > 0)
    each_run(longer, from, [&](const Run& run) {
      stream_.copy_rows(
          {row(run.first), row_bytes(), spare + run.first * bytes, bytes, bytes, run.count});
    });
}

void PrefixCache::put(std::int64_t position, const void* values) {
  PIPETRAIN_CHECK(position < length_, "position {} of {}", position, length_);
  stream_.copy_rows({row(0) + static_cast<std::size_t>(position) * position_bytes_, row_bytes(),
                     values, position_bytes_, position_bytes_, rows_});
}

}  // namespace pipetrain
