#include "plan/profile.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.hpp"
#include "graph/graph.hpp"

namespace pipetrain {
namespace {

std::string listed(const std::set<int>& numbers) {
  std::string text;
  for (const int n : numbers) text += fmt::format("{}{}", text.empty() ? "" : ", ", n);
  return text;
}

std::vector<const ProfilePoint*> points_with(const Profile& profile, int threads, Beside beside) {
  std::vector<const ProfilePoint*> points, alone;
  std::set<int> known;
  for (const ProfilePoint& point : profile.points) {
    known.insert(point.threads);
    if (point.threads != threads) continue;
    (point.neighbours > 0 ? points : alone).push_back(&point);
  }
  if (beside == Beside::Nobody || points.empty()) points = alone.empty() ? points : alone;
  if (points.empty())
    throw UsageError(fmt::format(
        "the profile has no times on {} threads, only on {}; measure them: pipetrain profile "
        "CONFIG --threads {}",
        threads, listed(known), threads));
  return points;
}

// The numbers of a, moved by this share towards those of b. Times for fewer samples than any
// measured are those of the fewest: a kernel's fixed cost does not shrink with them.
ProfilePoint between(const ProfilePoint& a, const ProfilePoint& b, double share) {
  const auto mix = [share](double x, double y) { return x + share * (y - x); };
  ProfilePoint point = a;
  for (std::size_t l = 0; l < a.layers.size(); ++l) {
    const LayerTimes &x = a.layers[l], &y = b.layers[l];
    point.layers[l] = {.forward_ms = mix(x.forward_ms, y.forward_ms),
                       .backward_input_ms = mix(x.backward_input_ms, y.backward_input_ms),
                       .first_weight_ms = mix(x.first_weight_ms, y.first_weight_ms),
                       .backward_weight_ms = mix(x.backward_weight_ms, y.backward_weight_ms),
                       .update_ms = mix(x.update_ms, y.update_ms),
                       .pack_ms = mix(x.pack_ms, y.pack_ms),
                       .fused_update_ms = mix(x.fused_update_ms, y.fused_update_ms),
                       .cut_forward_ms = mix(x.cut_forward_ms, y.cut_forward_ms),
                       .cut_backward_ms = mix(x.cut_backward_ms, y.cut_backward_ms),
                       .split_backward_ms = mix(x.split_backward_ms, y.split_backward_ms),
                       .spread = std::max(x.spread, y.spread)};
  }
  point.load_ms = mix(a.load_ms, b.load_ms);
  point.loss_ms = mix(a.loss_ms, b.loss_ms);
  point.loss_gradient_ms = mix(a.loss_gradient_ms, b.loss_gradient_ms);
  point.rest_ms = mix(a.rest_ms, b.rest_ms);
  return point;
}

ProfilePoint in_proportion(ProfilePoint point, double factor) {
  for (LayerTimes& l : point.layers) {
    l.forward_ms *= factor;
    l.backward_input_ms *= factor;
    l.first_weight_ms *= factor;
    l.backward_weight_ms *= factor;
    l.cut_forward_ms *= factor;
    l.cut_backward_ms *= factor;
    l.split_backward_ms *= factor;
  }
  point.load_ms *= factor;
  point.loss_ms *= factor;
  point.loss_gradient_ms *= factor;
  return point;
}

// What is in no layer's times, by the number of micro-batches: a part for each, and a fixed one.
// The points should differ in nothing else that matters to it, such as the versions of the weights.
double rest_of(const std::vector<const ProfilePoint*>& points, double microbatches) {
  const auto [least, most] = std::ranges::minmax_element(points, {}, &ProfilePoint::microbatches);
  const ProfilePoint &few = **least, &many = **most;
  if (few.microbatches == many.microbatches) return few.rest_ms;
  const double each = (many.rest_ms - few.rest_ms) / (many.microbatches - few.microbatches);
  return std::max(0.0, few.rest_ms + each * (microbatches - few.microbatches));
}

// Measurements whose held bytes are at most this apart held about the same.
constexpr double distinct = 1.2;

double log_of(double bytes) { return std::log(std::max(bytes, 1.0)); }

// By the logarithm of the bytes, on the line through two measurements.
ProfilePoint on_line(const ProfilePoint& a, const ProfilePoint& b, double held_bytes) {
  const double low = log_of(static_cast<double>(a.held_bytes)),
               high = log_of(static_cast<double>(b.held_bytes));
  return high > low ? between(a, b, (log_of(held_bytes) - low) / (high - low)) : b;
}

// More than was held in any measurement: as if times grew further, for those that grew from the
// measurement that held least to the one that held most. If these are close, the line through them
// says more about their errors than about what holds more.
ProfilePoint beyond(const ProfilePoint& least, const ProfilePoint& most, double held_bytes) {
  constexpr double farthest = 2;  // times the most bytes; from measurements as far apart
  const auto low = static_cast<double>(least.held_bytes),
             high = static_cast<double>(most.held_bytes);
  if (high < farthest * low) return most;
  const ProfilePoint grown = on_line(least, most, std::min(held_bytes, farthest * high));
  ProfilePoint point = most;
  for (std::size_t l = 0; l < point.layers.size(); ++l) {
    LayerTimes& times = point.layers[l];
    for (double LayerTimes::*time :
         {&LayerTimes::forward_ms, &LayerTimes::backward_input_ms, &LayerTimes::first_weight_ms,
          &LayerTimes::backward_weight_ms, &LayerTimes::update_ms, &LayerTimes::pack_ms,
          &LayerTimes::fused_update_ms})
      times.*time = std::max(times.*time, grown.layers[l].*time);
  }
  return point;
}

// The times for a number of micro-batches, from measurements that held about the same.
ProfilePoint by_microbatches(std::vector<const ProfilePoint*> points, double microbatches) {
  std::ranges::stable_sort(points, {}, &ProfilePoint::microbatches);
  const ProfilePoint &few = *points.front(), &many = *points.back();
  if (few.microbatches == many.microbatches) return many;
  const double low = std::log(few.microbatches), high = std::log(many.microbatches);
  return between(few, many, std::clamp((std::log(microbatches) - low) / (high - low), 0.0, 1.0));
}

// Ascending in what was held. A line through two that held about the same would say nothing about
// a third that holds more, so those become one.
std::vector<ProfilePoint> held_sizes(std::vector<const ProfilePoint*> points, double microbatches) {
  std::ranges::stable_sort(points, {}, &ProfilePoint::held_bytes);
  std::vector<ProfilePoint> sizes;
  for (auto first = points.begin(); first != points.end();) {
    const double limit = distinct * static_cast<double>((*first)->held_bytes);
    const auto end = std::find_if(first, points.end(), [limit](const ProfilePoint* point) {
      return static_cast<double>(point->held_bytes) > limit;
    });
    sizes.push_back(by_microbatches({first, end}, microbatches));
    first = end;
  }
  return sizes;
}

// From measurements that differ in what was held.
ProfilePoint by_held(const std::vector<const ProfilePoint*>& points, const Conditions& wanted) {
  const std::vector<ProfilePoint> sizes = held_sizes(points, wanted.microbatches);
  const auto above = std::ranges::find_if(sizes, [&](const ProfilePoint& p) {
    return static_cast<double>(p.held_bytes) >= wanted.held_bytes;
  });
  ProfilePoint point = sizes.front();
  if (above == sizes.end())
    point = beyond(sizes.front(), sizes.back(), wanted.held_bytes);
  else if (above != sizes.begin())
    point = on_line(*std::prev(above), *above, wanted.held_bytes);
  return point;
}

// Those that kept one version of the weights or several, as wanted; all if there are none.
std::vector<const ProfilePoint*> with_versions(const std::vector<const ProfilePoint*>& points,
                                               int versions) {
  std::vector<const ProfilePoint*> same;
  for (const ProfilePoint* point : points)
    if (versions > 0 && (point->versions > 1) == (versions > 1)) same.push_back(point);
  return same.empty() ? points : same;
}

// Those whose forwards and backwards count: all, unless all micro-batches of a mini-batch are in
// flight at once, as they were with one version.
std::vector<const ProfilePoint*> computing(const std::vector<const ProfilePoint*>& points,
                                           const Conditions& wanted) {
  return wanted.all_in_flight ? with_versions(points, 1) : points;
}

ProfilePoint holding(const std::vector<const ProfilePoint*>& points, const Conditions& wanted) {
  ProfilePoint point = by_held(computing(points, wanted), wanted);
  const ProfilePoint updating = by_held(with_versions(points, wanted.versions), wanted);
  for (std::size_t l = 0; l < point.layers.size(); ++l)
    for (double LayerTimes::*time :
         {&LayerTimes::update_ms, &LayerTimes::pack_ms, &LayerTimes::fused_update_ms})
      point.layers[l].*time = updating.layers[l].*time;
  point.rest_ms = rest_of(with_versions(points, 1), wanted.microbatches);
  return point;
}

// One for each number of samples, ascending.
std::vector<ProfilePoint> sizes_of(const Profile& profile, const Conditions& wanted) {
  std::map<int, std::vector<const ProfilePoint*>> by_samples;
  for (const ProfilePoint* point : points_with(profile, wanted.threads, wanted.beside))
    by_samples[point->samples].push_back(point);
  std::vector<ProfilePoint> sizes;
  for (const auto& [samples, points] : by_samples) sizes.push_back(holding(points, wanted));
  return sizes;
}

}  // namespace

ProfilePoint point_of(const Profile& profile, const Conditions& wanted) {
  const std::vector<ProfilePoint> sizes = sizes_of(profile, wanted);
  const double samples = wanted.samples;
  const auto above =
      std::ranges::find_if(sizes, [&](const auto& p) { return p.samples >= samples; });
  ProfilePoint point;
  if (above == sizes.end())
    point = in_proportion(sizes.back(), samples / sizes.back().samples);
  else if (above == sizes.begin())
    point = sizes.front();
  else
    point = between(
        *std::prev(above), *above,
        (samples - std::prev(above)->samples) / (above->samples - std::prev(above)->samples));
  point.samples = static_cast<int>(std::ceil(samples));
  return point;
}

double memory_rate(const Profile& profile, double held_bytes) {
  const std::vector<MemoryRate>& rates = profile.memory;
  if (rates.empty()) return 0;
  const auto above = std::ranges::find_if(
      rates, [&](const MemoryRate& rate) { return static_cast<double>(rate.bytes) >= held_bytes; });
  if (above == rates.end()) return rates.back().bytes_per_second;
  if (above == rates.begin()) return above->bytes_per_second;
  const MemoryRate &a = *std::prev(above), &b = *above;
  const double low = log_of(static_cast<double>(a.bytes)),
               high = log_of(static_cast<double>(b.bytes));
  const double share = (log_of(held_bytes) - low) / (high - low);
  return a.bytes_per_second + share * (b.bytes_per_second - a.bytes_per_second);
}

LayerChain chain_of(const Profile& profile, const Conditions& wanted) {
  const ProfilePoint point = point_of(profile, wanted);
  const int samples = point.samples;
  LayerChain chain{.layers = {}, .microbatch_samples = samples};
  for (std::size_t l = 0; l < profile.layers.size(); ++l) {
    const ProfiledLayer& layer = profile.layers[l];
    const LayerTimes& times = point.layers[l];
    chain.layers.push_back({.name = layer.name,
                            .forward_ms = times.forward_ms,
                            .backward_input_ms = times.backward_input_ms,
                            .backward_weight_ms = times.weight_ms(wanted.microbatches),
                            .update_ms = times.update_ms + times.pack_ms + times.fused_update_ms,
                            .cut_forward_ms = times.cut_forward_ms,
                            .cut_backward_ms = times.cut_backward_ms,
                            .split_backward_ms = times.split_backward_ms,
                            .sent_bytes = samples * layer.sent_bytes,
                            .saved_bytes = samples * layer.saved_bytes,
                            .parameter_bytes = layer.parameter_bytes});
  }
  if (chain.layers.empty()) return chain;
  chain.layers.front().forward_ms += point.load_ms;
  chain.layers.back().forward_ms += point.loss_ms;
  chain.layers.back().backward_input_ms += point.loss_gradient_ms;
  return chain;
}

}  // namespace pipetrain
