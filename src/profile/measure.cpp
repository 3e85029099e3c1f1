#include "profile/measure.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "graph/graph.hpp"
#include "machine/threads.hpp"
#include "plan/cost.hpp"
#include "plan/crossing.hpp"
#include "profile/added_times.hpp"
#include "profile/handover.hpp"
#include "profile/measure_point.hpp"
#include "profile/memory_rates.hpp"

namespace pipetrain {
namespace {

// With few micro-batches in flight, most of what a stage holds stays in the caches; with many, or
// with several versions of the weights, it does not.
constexpr int few_microbatches = 3, many_microbatches = 16;
// With two, the weight gradients that have no update in them are the first of their mini-batches,
// which are written; what the others add is then taken to cost the same.
constexpr int least_microbatches = 2;
// If a stage holds more than this, nothing is still in a cache when a step returns to it: forwards
// and backwards then take the same time whatever it holds, and only updates differ, by whether they
// write other weights than they read.
constexpr std::int64_t beyond_caches = 64 << 20;
// If more trainings than this take turns, two are measured too: times grow from where the caches
// are full, and hardly before.
constexpr int few_turns = 3;

// How many trainings hold more than the caches together, if eight are enough.
int trainings_beyond_caches(std::int64_t held_bytes) {
  return static_cast<int>(
      std::clamp<std::int64_t>((beyond_caches + held_bytes - 1) / held_bytes, 2, 8));
}

std::vector<ProfiledLayer> layers_of(const Config& config, const Graph& graph) {
  const int bytes = config.training.precision == Precision::Bf16 ? 2 : 4;
  std::vector<ProfiledLayer> layers;
  for (int l = 0; l < std::ssize(graph.layers); ++l) {
    const Layer& layer = graph.layers[l];
    const bool last = l + 1 == std::ssize(graph.layers);
    layers.push_back({.name = layer.name,
                      .kind = std::string(kind_name(layer.spec)),
                      .sent_bytes = last ? 0 : crossing_bytes(graph, {l + 1}) / 4 * bytes,
                      .saved_bytes = layer.output.elements() * bytes,
                      .parameter_bytes = owned_elements(layer) * 4,
                      .flops = layer.flops});
  }
  return layers;
}

// No neighbour, and as many neighbours as the other cores can run.
std::vector<int> neighbours_to_measure(const Config& config, int threads) {
  const int most = available_cores() / threads - 1;
  const bool here = config.hardware.devices.empty();  // devices have no cores of this machine
  return here && most > 0 ? std::vector{0, most} : std::vector{0};
}

struct Place {
  int samples = 1, threads = 1, neighbours = 0;
};

// What a point is measured of.
struct Way {
  WatchedModel model;
  Surroundings around;
  int versions = 1;  // of the weights, by the model's schedule
};

ProfilePoint measured(const Way& way, double seconds) {
  ProfilePoint point = measure_point(way.model, way.around, seconds);
  point.versions = way.versions;
  return point;
}

WatchedModel watched_model(const MeasureInput& in, const Place& place, int microbatches) {
  const auto most =
      static_cast<int>(std::min<std::int64_t>(microbatches, in.data.size() / place.samples));
  return {.config = in.config,
          .graph = in.graph,
          .data = in.data,
          .samples = place.samples,
          .threads = place.threads,
          .microbatches = most};
}

Way with_two_versions(Way way) {
  way.model.schedule = "pipedream_2bw";
  way.versions = 2;
  return way;
}

// Besides the model with few micro-batches in flight and one version of the weights, by itself:
// with two versions and, unless that is beyond the caches anyway, in turn with other trainings and,
// with one version and with two, with many micro-batches, as far as the data allow.
std::vector<Way> further_ways(const MeasureInput& in, const Place& place, const Way& first,
                              std::int64_t held_bytes) {
  Way two_versions = with_two_versions(first);
  if (held_bytes >= beyond_caches) return {two_versions};
  const int turns = trainings_beyond_caches(held_bytes);
  const auto in_turn = [&](int trainings) { return Surroundings{place.neighbours, trainings}; };
  std::vector<Way> ways;
  if (turns > few_turns) ways.push_back({first.model, in_turn(2)});
  ways.push_back({first.model, in_turn(turns)});
  ways.push_back(two_versions);
  two_versions.around = in_turn(turns);
  ways.push_back(two_versions);
  const WatchedModel many = watched_model(in, place, many_microbatches);
  if (many.microbatches > few_microbatches) {
    const Way one_version{many, in_turn(1)};
    ways.push_back(one_version);
    ways.push_back(with_two_versions(one_version));
  }
  return ways;
}

// Each is measured twice, the second time after all the others, and the faster one counts: what
// else the machine does for a while only makes it slower.
std::vector<ProfilePoint> measure_holding(const MeasureInput& in, const Place& place) {
  std::vector<Way> ways = {{watched_model(in, place, few_microbatches), {place.neighbours, 1}, 1}};
  const double seconds = in.seconds / 2;
  std::vector<ProfilePoint> points = {measured(ways.front(), seconds)};
  AddedTimes added(ways.front().model, points.front());
  for (const Way& way : further_ways(in, place, ways.front(), points.front().held_bytes)) {
    ways.push_back(way);
    points.push_back(measured(way, seconds));
  }
  if (place.neighbours == 0) added.measure(seconds);
  for (std::size_t i = 0; i < ways.size(); ++i) keep_faster(points[i], measured(ways[i], seconds));
  if (points.front().held_bytes >= beyond_caches) share_fastest_compute(points);
  if (place.neighbours > 0) return points;
  added.measure(seconds);
  added.set(points.front());
  return points;
}

// Cuts and halves were measured once for each size, with few micro-batches and no neighbours.
void share_added_times(std::vector<ProfilePoint>& points) {
  for (ProfilePoint& point : points) {
    const auto first = std::ranges::find_if(points, [&](const ProfilePoint& p) {
      return p.threads == point.threads && p.samples == point.samples;
    });
    for (std::size_t l = 0; l < point.layers.size(); ++l) {
      point.layers[l].cut_forward_ms = first->layers[l].cut_forward_ms;
      point.layers[l].cut_backward_ms = first->layers[l].cut_backward_ms;
      point.layers[l].split_backward_ms = first->layers[l].split_backward_ms;
    }
  }
}

void check_samples(const MeasureInput& in) {
  const int largest = std::ranges::max(in.samples);
  if (std::int64_t{largest} * least_microbatches <= in.data.size()) return;
  throw UsageError(
      fmt::format("micro-batches of {} cannot be measured: that takes {} samples, but the data "
                  "have {}; write smaller --microbatch-sizes, or use more data",
                  largest, std::int64_t{largest} * least_microbatches, in.data.size()));
}

}  // namespace

std::vector<int> microbatch_sizes_to_measure(std::int64_t batch_size, const Dataset& data) {
  constexpr int most = 6;
  std::vector<int> sizes;
  for (std::int64_t size = batch_size; size >= 1 && std::ssize(sizes) < most; size /= 2)
    if (size * least_microbatches <= data.size()) sizes.push_back(static_cast<int>(size));
  std::ranges::sort(sizes);
  return sizes.empty() ? std::vector{1} : sizes;
}

std::vector<int> threads_to_measure(const Config& config) {
  if (config.hardware.threads_per_stage > 0) return {config.hardware.threads_per_stage};
  std::vector<int> threads;
  for (int stages = available_cores(); stages >= 1; --stages) {
    const int each = available_cores() / stages;
    if (threads.empty() || threads.back() != each) threads.push_back(each);
  }
  return threads;
}

Profile measure_profile(const MeasureInput& in) {
  check_samples(in);
  Profile profile{.key = profile_key(in.config, in.graph),
                  .layers = layers_of(in.config, in.graph)};
  const std::unique_ptr<Backend> backend =
      make_backend(in.config.hardware.backend, in.config.hardware.devices);
  profile.memory = measure_memory_rates(*backend);
  for (const int threads : in.threads)
    for (const int neighbours : neighbours_to_measure(in.config, threads))
      for (const int samples : in.samples)
        for (ProfilePoint& point : measure_holding(in, {samples, threads, neighbours}))
          profile.points.push_back(std::move(point));
  share_added_times(profile.points);
  profile.transports = {measure_handover(), measure_inline_handover()};
  keep_faster(profile.memory, measure_memory_rates(*backend));  // after all else
  return profile;
}

}  // namespace pipetrain
