// Whether the cut of a running pipeline should move: decided from what its stages measure, one
// window of steps at a time. Knows neither threads nor weights; run/rebalance/moves.hpp moves.
//
// A layer's time is its stage's busy time, shared out by estimated costs; so a stage on a slow or
// shared core has expensive layers, and gives some away. A move is judged by the window
// after it: where the step did not get shorter it is taken back, and the same proposal is not made
// again for a while, each time twice as long.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pipetrain {

struct RebalancerInput {
  std::vector<double> layer_costs;  // estimated, in any unit; one per layer of the model
  std::vector<int> firsts;          // the first layer of each part, now
  // Milliseconds of a step whose parts take these times for all forwards and backwards of a
  // mini-batch: the program, simulated.
  std::function<double(const std::vector<double>& part_ms)> step_ms;
  std::int64_t steps = 0;  // the last one's number
};

// What a window of steps measured, medians.
struct MeasuredSteps {
  std::int64_t step = 0;  // trained so far
  double step_ms = 0;
  std::vector<double> part_ms;  // busy per step, of each part
};

struct Move {
  std::vector<int> firsts;
  double measured_ms = 0, predicted_ms = 0;  // of a step, before and after
  bool back = false;                         // takes the last move back
  std::string why;
};

class Rebalancer {
 public:
  explicit Rebalancer(RebalancerInput input);

  // A move that pays for itself in the steps that are left; nothing: stay.
  std::optional<Move> decide(const MeasuredSteps& window);
  // What became of it. One that was refused (there is no memory for it) is not proposed for a
  // while.
  void moved(const Move& move, double cost_ms);
  void refused(const Move& move);

  const std::vector<int>& firsts() const { return firsts_; }

 private:
  struct Judged {  // the last move, until the window after it
    std::vector<int> before;
    double step_ms = 0;
  };
  struct Held {  // a cut that is not proposed until then
    std::vector<int> firsts;
    int windows_left = 0, next = 0;
  };
  std::vector<double> layer_ms(const MeasuredSteps& window) const;
  std::optional<Move> judge(const MeasuredSteps& window);
  std::optional<Move> propose(const MeasuredSteps& window) const;
  void hold(const std::vector<int>& firsts);
  bool is_held(const std::vector<int>& firsts) const;

  const RebalancerInput in_;
  std::vector<int> firsts_;
  std::optional<Judged> judged_;
  std::vector<Held> held_;
  double cost_ms_ = 500;  // of a move, until one was measured
};

}  // namespace pipetrain
