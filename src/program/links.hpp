// The channels during a walk through an order, and the links under them. A transfer waits for the
// one before it on its channel, and for all those on a link that its boundary shares.
#pragma once

#include <algorithm>
#include <vector>

#include "program/packets.hpp"
#include "program/stage_times.hpp"

namespace pipetrain {

class Links {
 public:
  Links(const CompactOrder& order, const Costs& costs, const StageTimeTable& times)
      : shared_(costs.links), times_(times), channels_(order), packets_(channels_.size()) {
    int count = 0;
    for (const auto* links : {&shared_.activations, &shared_.gradients})
      for (const int link : *links) count = std::max(count, link + 1);
    free_at_.resize(static_cast<std::size_t>(count), 0);
  }

  Packets& packets(int boundary, bool gradient, int microbatch) {
    return packets_[channels_.index(boundary, gradient, microbatch)];
  }

  // Adds a transfer that could begin at `ready`, and returns when it ends.
  double transfer(Packets& packets, int boundary, bool gradient, double ready) {
    const StageTimes& t = times_.at({boundary});
    const auto& links = gradient ? shared_.gradients : shared_.activations;
    const int link = links.empty() ? -1 : links[static_cast<std::size_t>(boundary)];
    double start = std::max(ready, packets.free_at);
    if (link >= 0) start = std::max(start, free_at_[static_cast<std::size_t>(link)]);
    packets.free_at = start + (gradient ? t.gradient : t.activation);
    if (link >= 0) free_at_[static_cast<std::size_t>(link)] = packets.free_at;
    return packets.free_at;
  }

 private:
  const Costs::SharedLinks& shared_;
  const StageTimeTable& times_;
  ChannelTable channels_;
  std::vector<Packets> packets_;
  std::vector<double> free_at_;  // per shared link
};

}  // namespace pipetrain
