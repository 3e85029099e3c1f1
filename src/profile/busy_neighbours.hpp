// Other stages at work: while this object lives, each trains the same model on its own cores. What
// is measured meanwhile then gets the memory bandwidth and the clock that stages leave each other.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "machine/threads.hpp"
#include "profile/watched_training.hpp"

namespace pipetrain {

// The cores that this process may use, for this many workers; none if there are too few.
ThreadPlan cores_for(int workers, int threads_per_stage);

class BusyNeighbours {
 public:
  // Starts `count` of them, as workers 1, 2, .. of the plan; worker 0 is the one that is measured.
  // Returns once all of them train or have failed.
  BusyNeighbours(const WatchedModel& model, int count, const ThreadPlan& threads);
  ~BusyNeighbours();

  // Rethrows the exception of a neighbour that failed.
  void check() const;

 private:
  struct Neighbour {
    std::unique_ptr<WatchedTraining> training;
    std::exception_ptr failure = {};  // valid once `failed`
    std::atomic<bool> failed = false;
    std::thread thread = {};
  };
  void train(Neighbour& neighbour, int worker, const ThreadPlan& threads);
  void stop();

  std::atomic<bool> stop_ = false;
  std::atomic<int> begun_ = 0;
  std::vector<std::unique_ptr<Neighbour>> neighbours_;
};

}  // namespace pipetrain
