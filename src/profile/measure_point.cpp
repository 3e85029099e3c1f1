#include "profile/measure_point.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <thread>

#include "base/clock.hpp"
#include "base/median.hpp"
#include "base/start_thread.hpp"
#include "machine/threads.hpp"
#include "profile/busy_neighbours.hpp"

namespace pipetrain {
namespace {

constexpr int warm_up_steps = 3, lots_least = 7, lots_most = 60;
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

class Measuring {
 public:
  Measuring(Turns& turns, double seconds)
      : turns_(turns), training_(turns.measured()), seconds_(seconds) {}

  // `check` is called between lots.
  template <class Check>
  void run(const Check& check) {
    turns_.run(warm_up_steps);
    const double step_ms = turns_.run(warm_up_steps);
    steps_ = std::max(1, static_cast<int>(std::lround(lot_ms / (step_ms * turns_.count()))));
    training_.forget();
    const std::int64_t begin = now_ns();
    const auto enough = [&] { return static_cast<double>(now_ns() - begin) >= 1e9 * seconds_; };
    for (int lot = 0; lot < lots_most && (lot < lots_least || !enough()); ++lot) {
      check();
      step_ms_.push_back(turns_.run(steps_));
      training_.end_lot(steps_);
    }
  }

  // Time per mini-batch that is not timed as part of its layers.
  double rest_ms() const {
    std::vector<double> rests;
    for (std::size_t lot = 0; lot < step_ms_.size(); ++lot)
      rests.push_back(step_ms_[lot] - training_.watched_ms(lot));
    return std::max(0.0, median(rests));
  }

 private:
  Turns& turns_;
  WatchedTraining& training_;
  const double seconds_;
  int steps_ = 1;
  std::vector<double> step_ms_;
};

// Runs `work` on a thread of its own, which is pinned as a worker is.
template <class Work>
void as_worker(const ThreadPlan& threads, const Work& work) {
  std::exception_ptr failure;
  start_thread([&] {
    try {
      set_kernel_threads(threads.threads_per_stage);
      pin_worker(0, threads);
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

ProfilePoint measure_point(const WatchedModel& model, const Surroundings& around, double seconds) {
  const ThreadPlan threads = cores_for(1 + around.neighbours, model.threads);
  Turns turns(model, around.in_turn);
  const WatchedTraining& training = turns.measured();
  BusyNeighbours beside(model, around.neighbours, threads);
  Measuring measuring(turns, seconds);
  as_worker(threads, [&] { measuring.run([&] { beside.check(); }); });
  std::vector<LayerTimes> layers;
  for (int s = 0; s < training.stages(); ++s)
    for (const LayerTimes& times : training.clock(s).medians()) layers.push_back(times);
  const LayerClock &first = training.clock(0), &last = training.clock(training.stages() - 1);
  return {.samples = model.samples,
          .threads = model.threads,
          .neighbours = around.neighbours,
          .microbatches = model.microbatches,
          .held_bytes = turns.held_bytes(),
          .layers = std::move(layers),
          .load_ms = first.median_ms(LayerWork::Load),
          .loss_ms = last.median_ms(LayerWork::Loss),
          .loss_gradient_ms = last.median_ms(LayerWork::LossGradient),
          .rest_ms = measuring.rest_ms()};
}

}  // namespace pipetrain
