#include "profile/added_times.hpp"

#include <array>
#include <vector>

#include "profile/cut_times.hpp"
#include "profile/measure_point.hpp"
#include "profile/split_times.hpp"

namespace pipetrain {
namespace {

WatchedModel split(WatchedModel model) {
  model.schedule = "zb_h1";
  return model;
}

WatchedModel cut(WatchedModel model, int layers, int from) {
  model.firsts = every_second_cut(layers, from);
  return model;
}

}  // namespace

void measure_added_times(const WatchedModel& model, double seconds, std::int64_t in_turn_bytes,
                         ProfilePoint& whole) {
  const int count = static_cast<int>(whole.layers.size());
  const std::vector<WatchedModel> ways = {split(model), cut(model, count, 0), cut(model, count, 1),
                                          model};
  std::vector<std::vector<LayerTimes>> times;
  if (whole.held_bytes <= in_turn_bytes) {
    for (ProfilePoint& point : measure_in_turn(ways, seconds))
      times.push_back(std::move(point.layers));
  } else {
    for (std::size_t way = 0; way + 1 < ways.size(); ++way)
      times.push_back(measure_point(ways[way], {}, seconds).layers);
    times.push_back(whole.layers);
  }
  set_split_times(times[3], times[0]);
  set_cut_times(times[3], {times[1], times[2]});
  for (std::size_t l = 0; l < whole.layers.size(); ++l) {
    whole.layers[l].split_backward_ms = times[3][l].split_backward_ms;
    whole.layers[l].cut_forward_ms = times[3][l].cut_forward_ms;
    whole.layers[l].cut_backward_ms = times[3][l].cut_backward_ms;
  }
}

}  // namespace pipetrain
