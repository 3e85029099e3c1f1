#include "profile/measure_point.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "base/clock.hpp"
#include "base/median.hpp"
#include "machine/threads.hpp"
#include "profile/as_worker.hpp"
#include "profile/busy_neighbours.hpp"

namespace pipetrain {
namespace {

constexpr int warm_up_steps = 1, lots_least = 5, lots_most = 60;
constexpr double lot_ms = 60;  // roughly; at least one step

// Trainings that take turns, a mini-batch each, so that each finds in the caches what the others
// left there. Only the first one is measured.
class Turns {
 public:
  Turns(const WatchedModel& model, int count) {
    for (int i = 0; i < count; ++i) trainings_.push_back(std::make_unique<WatchedTraining>(model));
  }
  WatchedTraining& measured() const { return *trainings_.front(); }
  std::int64_t held_bytes() const {
    std::int64_t bytes = 0;
    for (const auto& training : trainings_) bytes += training->held_bytes();
    return bytes;
  }
  int count() const { return static_cast<int>(trainings_.size()); }
  // The measured one's milliseconds per mini-batch.
  double run(int steps) {
    if (trainings_.size() == 1) return measured().run(steps);
    double ms = 0;
    for (int step = 0; step < steps; ++step) {
      ms += measured().run(1);
      for (std::size_t other = 1; other < trainings_.size(); ++other) trainings_[other]->run(1);
    }
    return ms / steps;
  }

 private:
  std::vector<std::unique_ptr<WatchedTraining>> trainings_;
};

// Lots of steps of a training, each of which is one measurement.
class Measuring {
 public:
  Measuring(const WatchedModel& model, const Surroundings& around)
      : model_(model), turns_(model, around.in_turn), training_(turns_.measured()) {}

  void warm_up() {
    turns_.run(warm_up_steps);
    const double step_ms = turns_.run(warm_up_steps);
    steps_ = std::max(1, static_cast<int>(std::lround(lot_ms / (step_ms * turns_.count()))));
    training_.forget();
  }
  void measure_lot() {
    step_ms_.push_back(turns_.run(steps_));
    training_.end_lot(steps_);
  }

  ProfilePoint point() const {
    const LayerClock &first = training_.clock(0), &last = training_.clock(training_.stages() - 1);
    return {.samples = model_.samples,
            .threads = model_.threads,
            .microbatches = model_.microbatches,
            .held_bytes = turns_.held_bytes(),
            .layers = layers(&LayerClock::medians),
            .load_ms = first.median_ms(LayerWork::Load),
            .loss_ms = last.median_ms(LayerWork::Loss),
            .loss_gradient_ms = last.median_ms(LayerWork::LossGradient),
            .rest_ms = rest_ms()};
  }
  // With the times of each layer in the lots in which they were shortest.
  ProfilePoint fastest_point() const {
    ProfilePoint fastest = point();
    fastest.layers = layers(&LayerClock::fastest);
    return fastest;
  }

 private:
  std::vector<LayerTimes> layers(std::vector<LayerTimes> (LayerClock::*times)() const) const {
    std::vector<LayerTimes> layers;
    for (int s = 0; s < training_.stages(); ++s)
      for (const LayerTimes& of_layer : (training_.clock(s).*times)()) layers.push_back(of_layer);
    return layers;
  }
  // Time per mini-batch that is not timed as part of its layers.
  double rest_ms() const {
    std::vector<double> rests;
    for (std::size_t lot = 0; lot < step_ms_.size(); ++lot)
      rests.push_back(step_ms_[lot] - training_.watched_ms(lot));
    return std::max(0.0, median(rests));
  }

  const WatchedModel& model_;
  Turns turns_;
  WatchedTraining& training_;
  int steps_ = 1;
  std::vector<double> step_ms_;
};

// One lot of each after the other, for at least `seconds` each. `check` is called between lots.
template <class Check>
void measure_lots(std::span<Measuring> all, double seconds, const Check& check) {
  for (Measuring& one : all) one.warm_up();
  const std::int64_t begin = now_ns();
  const auto enough = [&] {
    return static_cast<double>(now_ns() - begin) >= 1e9 * seconds * static_cast<double>(all.size());
  };
  for (int lot = 0; lot < lots_most && (lot < lots_least || !enough()); ++lot)
    for (Measuring& one : all) {
      check();
      one.measure_lot();
    }
}

}  // namespace

ProfilePoint measure_point(const WatchedModel& model, const Surroundings& around, double seconds) {
  const ThreadPlan threads = cores_for(1 + around.neighbours, model.threads);
  Measuring measuring(model, around);
  BusyNeighbours beside(model, around.neighbours, threads);
  as_worker(threads, [&] { measure_lots({&measuring, 1}, seconds, [&] { beside.check(); }); });
  ProfilePoint point = measuring.point();
  point.neighbours = around.neighbours;
  return point;
}

std::vector<ProfilePoint> measure_in_turn(const std::vector<WatchedModel>& ways, double seconds) {
  std::vector<Measuring> all;
  all.reserve(ways.size());
  for (const WatchedModel& way : ways) all.emplace_back(way, Surroundings{});
  as_worker(cores_for(1, ways.front().threads),
            [&] { measure_lots(std::span(all), seconds, [] {}); });
  std::vector<ProfilePoint> points;
  for (const Measuring& one : all) points.push_back(one.fastest_point());
  return points;
}

double compute_ms(const ProfilePoint& point) {
  double ms = 0;
  for (const LayerTimes& times : point.layers)
    ms += times.forward_ms + times.backward_input_ms + times.backward_weight_ms;
  return ms;
}

void keep_faster(ProfilePoint& kept, ProfilePoint measured) {
  if (compute_ms(measured) < compute_ms(kept)) kept = std::move(measured);
}

void share_fastest_compute(std::vector<ProfilePoint>& points) {
  const std::vector<LayerTimes> fastest = std::ranges::min_element(points, {}, compute_ms)->layers;
  for (ProfilePoint& point : points)
    for (std::size_t l = 0; l < fastest.size(); ++l)
      for (double LayerTimes::*time :
           {&LayerTimes::forward_ms, &LayerTimes::backward_input_ms, &LayerTimes::first_weight_ms,
            &LayerTimes::backward_weight_ms})
        point.layers[l].*time = fastest[l].*time;
}

}  // namespace pipetrain
