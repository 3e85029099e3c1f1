#include "profile/measure_point.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <thread>

#include "base/median.hpp"
#include "base/start_thread.hpp"
#include "machine/threads.hpp"
#include "profile/busy_neighbours.hpp"

namespace pipetrain {
namespace {

constexpr int warm_up_steps = 3, lots_least = 7, lots_most = 60;
constexpr double lot_ms = 60;  // roughly; at least one step

class Measuring {
 public:
  Measuring(WatchedTraining& training, double seconds) : training_(training), seconds_(seconds) {}

  // `check` is called between lots.
  template <class Check>
  void run(const Check& check) {
    training_.run(warm_up_steps);
    const double step_ms = training_.run(warm_up_steps);
    steps_ = std::max(1, static_cast<int>(std::lround(lot_ms / step_ms)));
    training_.forget();
    double ms = 0;
    for (int lot = 0; lot < lots_most && (lot < lots_least || ms < 1e3 * seconds_); ++lot) {
      check();
      step_ms_.push_back(training_.run(steps_));
      training_.end_lot(steps_);
      ms += step_ms_.back() * steps_;
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

ProfilePoint measure_point(const WatchedModel& model, int neighbours, double seconds) {
  const ThreadPlan threads = cores_for(1 + neighbours, model.threads);
  WatchedTraining training(model);
  BusyNeighbours beside(model, neighbours, threads);
  Measuring measuring(training, seconds);
  as_worker(threads, [&] { measuring.run([&] { beside.check(); }); });
  std::vector<LayerTimes> layers;
  for (int s = 0; s < training.stages(); ++s)
    for (const LayerTimes& times : training.clock(s).medians()) layers.push_back(times);
  const LayerClock &first = training.clock(0), &last = training.clock(training.stages() - 1);
  return {.samples = model.samples,
          .threads = model.threads,
          .neighbours = neighbours,
          .microbatches = model.microbatches,
          .held_bytes = training.held_bytes(),
          .layers = std::move(layers),
          .load_ms = first.median_ms(LayerWork::Load),
          .loss_ms = last.median_ms(LayerWork::Loss),
          .loss_gradient_ms = last.median_ms(LayerWork::LossGradient),
          .rest_ms = measuring.rest_ms()};
}

}  // namespace pipetrain
