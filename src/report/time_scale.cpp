#include "report/time_scale.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pipetrain {
namespace {

constexpr double kLong = 0.2;    // of the traced time: a longer gap is left out
constexpr double kBreak = 0.01;  // of the traced time: what is shown in its place

}  // namespace

TimeScale::TimeScale(std::span<const TraceSlice> slices) {
  std::vector<std::pair<double, double>> spans;
  for (const TraceSlice& slice : slices)
    spans.emplace_back(slice.begin, slice.begin + slice.length);
  std::ranges::sort(spans);
  double traced = 0;
  for (const auto& [begin, end] : spans)
    if (stretches_.empty() || begin > stretches_.back().end) {
      stretches_.push_back({begin, end, 0});
      traced += end - begin;
    } else if (end > stretches_.back().end) {
      traced += end - stretches_.back().end;
      stretches_.back().end = end;
    }

  break_length_ = kBreak * traced;
  for (std::size_t i = 1; i < stretches_.size(); ++i) {
    const Stretch& last = stretches_[i - 1];
    const double gap = stretches_[i].begin - last.end, at = last.shown + last.end - last.begin;
    const bool is_long = gap > kLong * traced;
    if (is_long) breaks_.push_back({at, gap});
    stretches_[i].shown = at + (is_long ? break_length_ : gap);
  }
  const Stretch& last = stretches_.back();
  length_ = std::max(last.shown + last.end - last.begin, 1e-3);
}

double TimeScale::shown(double time) const {
  const auto after = std::ranges::upper_bound(stretches_, time, {}, &Stretch::begin);
  const Stretch& in = after == stretches_.begin() ? *after : *std::prev(after);
  return std::clamp(in.shown + time - in.begin, 0.0, length_);
}

}  // namespace pipetrain
