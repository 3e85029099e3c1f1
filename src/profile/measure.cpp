#include "profile/measure.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

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
// If a stage holds more than this, nothing is still in a cache when a step returns to it.
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

// With few micro-batches in flight and one version of the weights, then with two versions, each by
// itself and then taking turns with trainings that together fill the caches (with one version also
// with one other), then with many micro-batches, as far as the data allow.
std::vector<ProfilePoint> measure_holding(const MeasureInput& in, const Place& place) {
  const auto at_most = [&](int wanted) {
    return static_cast<int>(std::min<std::int64_t>(wanted, in.data.size() / place.samples));
  };
  WatchedModel model{.config = in.config,
                     .graph = in.graph,
                     .data = in.data,
                     .samples = place.samples,
                     .threads = place.threads,
                     .microbatches = at_most(few_microbatches)};
  std::vector<ProfilePoint> points;
  const auto measure = [&](int in_turn, int versions) {
    points.push_back(measure_point(model, {place.neighbours, in_turn}, in.seconds));
    points.back().versions = versions;
  };
  measure(1, 1);
  if (place.neighbours == 0) measure_added_times(model, in.seconds, beyond_caches, points[0]);
  if (points[0].held_bytes >= beyond_caches) return points;
  const int turns = trainings_beyond_caches(points[0].held_bytes);
  if (turns > few_turns) measure(2, 1);
  measure(turns, 1);
  model.schedule = "pipedream_2bw";
  measure(1, 2);
  measure(turns, 2);
  model.schedule = "gpipe";
  model.microbatches = at_most(many_microbatches);
  if (model.microbatches > few_microbatches) measure(1, 1);
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
  for (const int threads : in.threads)
    for (const int neighbours : neighbours_to_measure(in.config, threads))
      for (const int samples : in.samples)
        for (ProfilePoint& point : measure_holding(in, {samples, threads, neighbours}))
          profile.points.push_back(std::move(point));
  share_added_times(profile.points);
  profile.transports = {measure_handover(), measure_inline_handover()};
  profile.memory =
      measure_memory_rates(*make_backend(in.config.hardware.backend, in.config.hardware.devices));
  return profile;
}

}  // namespace pipetrain
