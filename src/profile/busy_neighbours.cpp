#include "profile/busy_neighbours.hpp"

#include "base/start_thread.hpp"
#include "machine/core_claims.hpp"

namespace pipetrain {

ThreadPlan cores_for(int workers, int threads_per_stage) {
  ThreadPlan plan = plan_threads(workers, threads_per_stage);
  if (plan.fits) plan.cores = allowed_cores();
  return plan;
}

BusyNeighbours::BusyNeighbours(const WatchedModel& model, int count, const ThreadPlan& threads) {
  for (int n = 0; n < count; ++n) {
    neighbours_.push_back(std::make_unique<Neighbour>());
    neighbours_.back()->training = std::make_unique<WatchedTraining>(model);
  }
  try {
    for (int n = 0; n < count; ++n) {
      Neighbour& each = *neighbours_[static_cast<std::size_t>(n)];
      each.thread = start_thread([this, &each, n, threads] { train(each, n + 1, threads); });
    }
  } catch (...) {
    stop();
    throw;
  }
  for (int begun = begun_; begun < count; begun = begun_) begun_.wait(begun);
}

BusyNeighbours::~BusyNeighbours() { stop(); }

void BusyNeighbours::stop() {
  stop_ = true;
  for (const auto& each : neighbours_)
    if (each->thread.joinable()) each->thread.join();
}

void BusyNeighbours::train(Neighbour& neighbour, int worker, const ThreadPlan& threads) {
  bool first = true;
  const auto begin = [&] {
    if (!first) return;
    first = false;
    ++begun_;
    begun_.notify_all();
  };
  try {
    set_kernel_threads(threads.threads_per_stage);
    pin_worker(worker, threads);
    while (!stop_) {
      neighbour.training->run(1);
      begin();
    }
  } catch (...) {
    neighbour.failure = std::current_exception();
    neighbour.failed = true;
    begin();
  }
}

void BusyNeighbours::check() const {
  for (const auto& each : neighbours_)
    if (each->failed) std::rethrow_exception(each->failure);
}

}  // namespace pipetrain
