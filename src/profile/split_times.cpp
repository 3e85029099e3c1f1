#include "profile/split_times.hpp"

#include <algorithm>

namespace pipetrain {

void set_split_times(std::vector<LayerTimes>& whole, const std::vector<LayerTimes>& split) {
  const auto backward_ms = [](const LayerTimes& times) {
    return times.backward_input_ms + times.backward_weight_ms;
  };
  for (std::size_t l = 0; l < whole.size(); ++l)
    whole[l].split_backward_ms = std::max(0.0, backward_ms(split[l]) - backward_ms(whole[l]));
}

}  // namespace pipetrain
