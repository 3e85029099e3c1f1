// Decides whether the cut of a running pipeline should move, from what its stages measure in one
// window of steps at a time. Knows neither threads nor weights; run/rebalance/moving_cut.hpp moves.
//
// Cuts are compared by what the layers take on their parts' cores (measured_layers.hpp). A move is
// judged by the window after it: if the step did not get shorter, the move is taken back, and the
// same proposal is not made again for a while, which doubles each time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "run/rebalance/measured_layers.hpp"

namespace pipetrain {

struct RebalancerInput {
  LayerEstimates layers;
  std::vector<int> firsts;  // the current first layer of each part
  // Milliseconds of a step in which the parts take these times: the program, simulated.
  std::function<double(const std::vector<PartTimes>&)> step_ms;
  std::int64_t steps = 0;  // number of the last step
};

// What a window of steps measured, as medians.
struct MeasuredSteps {
  std::int64_t step = 0;  // steps trained so far
  double step_ms = 0;
  std::vector<double> part_ms;  // busy time per step, for each part
};

struct Move {
  std::vector<int> firsts;
  double measured_ms = 0, predicted_ms = 0;  // of a step: before the move, and expected after it
  bool back = false;                         // it takes the last move back
  std::string why;
};

class Rebalancer {
 public:
  explicit Rebalancer(RebalancerInput input);

  // A move that pays for itself in the remaining steps, or nothing.
  std::optional<Move> decide(const MeasuredSteps& window);
  // Report what became of it. A refused move (there is no memory for it) is not proposed again for
  // a while.
  void moved(const Move& move, double cost_ms);
  void refused(const Move& move);

  const std::vector<int>& firsts() const { return firsts_; }

 private:
  struct Judged {  // the last move, until the end of the next window
    std::vector<int> before;
    double step_ms = 0;
  };
  struct Held {  // a cut that is not proposed for some windows
    std::vector<int> firsts;
    int windows_left = 0, next = 0;
  };
  std::optional<Move> judge(const MeasuredSteps& window);
  std::optional<Move> propose(const MeasuredSteps& window) const;
  void hold(const std::vector<int>& firsts);
  bool is_held(const std::vector<int>& firsts) const;

  const RebalancerInput in_;
  MeasuredLayers layers_;
  std::vector<int> firsts_;
  std::optional<Judged> judged_;
  std::vector<Held> held_;
  double cost_ms_ = 500;  // of a move, until one has been measured
};

}  // namespace pipetrain
