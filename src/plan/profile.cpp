#include "plan/profile.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"

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
  std::ranges::sort(points, {}, &ProfilePoint::samples);
  return points;
}

// A share of b's numbers, the rest of a's. Times of fewer samples than any that were measured are
// those of the fewest: a kernel's fixed cost does not shrink with them.
ProfilePoint between(const ProfilePoint& a, const ProfilePoint& b, double share) {
  const auto mix = [share](double x, double y) { return x + share * (y - x); };
  ProfilePoint point = a;
  for (std::size_t l = 0; l < a.layers.size(); ++l) {
    const LayerTimes &x = a.layers[l], &y = b.layers[l];
    point.layers[l] = {.forward_ms = mix(x.forward_ms, y.forward_ms),
                       .backward_input_ms = mix(x.backward_input_ms, y.backward_input_ms),
                       .backward_weight_ms = mix(x.backward_weight_ms, y.backward_weight_ms),
                       .update_ms = mix(x.update_ms, y.update_ms),
                       .pack_ms = mix(x.pack_ms, y.pack_ms),
                       .fused_update_ms = mix(x.fused_update_ms, y.fused_update_ms),
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
    l.backward_weight_ms *= factor;
  }
  point.load_ms *= factor;
  point.loss_ms *= factor;
  point.loss_gradient_ms *= factor;
  return point;
}

}  // namespace

ProfilePoint point_of(const Profile& profile, double samples, int threads, Beside beside) {
  const std::vector<const ProfilePoint*> points = points_with(profile, threads, beside);
  const auto above =
      std::ranges::find_if(points, [&](const auto* p) { return p->samples >= samples; });
  ProfilePoint point;
  if (above == points.end())
    point = in_proportion(*points.back(), samples / points.back()->samples);
  else if (above == points.begin())
    point = *points.front();
  else
    point = between(**std::prev(above), **above,
                    (samples - (*std::prev(above))->samples) /
                        ((*above)->samples - (*std::prev(above))->samples));
  point.samples = static_cast<int>(std::ceil(samples));
  return point;
}

LayerChain chain_of(const Profile& profile, int samples, int threads, Beside beside) {
  const ProfilePoint point = point_of(profile, samples, threads, beside);
  LayerChain chain{.layers = {}, .microbatch_samples = samples};
  for (std::size_t l = 0; l < profile.layers.size(); ++l) {
    const ProfiledLayer& layer = profile.layers[l];
    const LayerTimes& times = point.layers[l];
    chain.layers.push_back({.name = layer.name,
                            .forward_ms = times.forward_ms,
                            .backward_input_ms = times.backward_input_ms,
                            .backward_weight_ms = times.backward_weight_ms,
                            .update_ms = times.update_ms + times.pack_ms + times.fused_update_ms,
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
