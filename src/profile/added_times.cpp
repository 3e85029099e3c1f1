#include "profile/added_times.hpp"

#include "base/check.hpp"
#include "profile/cut_times.hpp"
#include "profile/measure_point.hpp"
#include "profile/split_times.hpp"

namespace pipetrain {
namespace {

// The most that each of them may hold.
constexpr std::int64_t most_in_turn = 512 << 20;

WatchedModel split(WatchedModel model) {
  model.schedule = "zb_h1";
  return model;
}

WatchedModel cut(WatchedModel model, int layers, int from) {
  model.firsts = every_second_cut(layers, from);
  return model;
}

}  // namespace

AddedTimes::AddedTimes(const WatchedModel& model, const ProfilePoint& whole)
    : in_turn_(whole.held_bytes <= most_in_turn) {
  const int layers = static_cast<int>(whole.layers.size());
  ways_.push_back(split(model));
  for (const int from : {0, 1}) ways_.push_back(cut(model, layers, from));
  if (in_turn_) ways_.push_back(model);
}

void AddedTimes::measure(double seconds) {
  std::vector<ProfilePoint> points;
  if (in_turn_)
    points = measure_in_turn(ways_, seconds);
  else
    for (const WatchedModel& way : ways_) points.push_back(measure_point(way, {}, seconds));
  if (fastest_.empty()) fastest_ = points;
  for (std::size_t way = 0; way < points.size(); ++way)
    keep_faster(fastest_[way], std::move(points[way]));
}

void AddedTimes::set(ProfilePoint& whole) const {
  PIPETRAIN_CHECK(!fastest_.empty(), "nothing was measured");
  std::vector<LayerTimes> times = in_turn_ ? fastest_.back().layers : whole.layers;
  set_split_times(times, fastest_[0].layers);
  set_cut_times(times, {fastest_[1].layers, fastest_[2].layers});
  for (std::size_t l = 0; l < times.size(); ++l) {
    whole.layers[l].split_backward_ms = times[l].split_backward_ms;
    whole.layers[l].cut_forward_ms = times[l].cut_forward_ms;
    whole.layers[l].cut_backward_ms = times[l].cut_backward_ms;
  }
}

}  // namespace pipetrain
