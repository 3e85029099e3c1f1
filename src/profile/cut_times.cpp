#include "profile/cut_times.hpp"

#include <algorithm>

namespace pipetrain {

std::vector<int> every_second_cut(int layers, int from) {
  std::vector<int> firsts = {0};
  for (int l = from + 1; l < layers; l += 2) firsts.push_back(l);
  return firsts;
}

void set_cut_times(std::vector<LayerTimes>& uncut,
                   const std::array<std::vector<LayerTimes>, 2>& cut) {
  const auto backward = [](const LayerTimes& t) {
    return t.backward_input_ms + t.backward_weight_ms;  // of most micro-batches
  };
  for (std::size_t l = 0; l + 1 < uncut.size(); ++l) {
    const std::vector<LayerTimes>& longer = cut[l % 2];
    const auto of_both = [&](const std::vector<LayerTimes>& times, const auto& ms) {
      return ms(times[l]) + ms(times[l + 1]);
    };
    const auto added = [&](const auto& ms) {
      return std::max(0.0, of_both(longer, ms) - of_both(uncut, ms));
    };
    uncut[l].cut_forward_ms = added([](const LayerTimes& t) { return t.forward_ms; });
    uncut[l].cut_backward_ms = added(backward);
  }
}

}  // namespace pipetrain
