// PipeMare, section 3.1 (T1): stages with a longer delay begin with a lower learning rate.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "base/indexed.hpp"
#include "config/config.hpp"

namespace pipetrain {

// delay^-(1 - min(k / anneal_steps, 1)) at k updates after `first_step`; delays below one count as
// one.
struct RateAnnealing {
  std::int64_t anneal_steps = 0;    // 0: off
  std::int64_t first_step = 0;      // where the asynchronous phase begins
  Indexed<double, StageId> delays;  // per stage
  double factor(std::int64_t step, StageId stage) const;
};

// What the config gives; otherwise a quarter of the updates after the synchronous warm-up (T3),
// rounded up. None if the config gives nothing and no update follows.
std::optional<std::int64_t> anneal_steps(const Config& config, std::int64_t total_steps,
                                         std::int64_t steps_per_epoch);

// For a whole training; off if the schedule has one rate for all stages.
RateAnnealing rate_annealing(const Config& config, std::int64_t total_steps,
                             std::int64_t steps_per_epoch);

}  // namespace pipetrain
