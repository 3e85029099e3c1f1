// The wording of a plan, on a terminal and in a picture.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/proposal.hpp"

namespace pipetrain {

std::string ms_text(double ms);                             // "12.35 ms"
std::string layers_text(const ProposedStage& stage);        // "conv1 .. relu2 (4 layers)"
std::string devices_text(const std::vector<int>& devices);  // "0-3 8-11"
std::string title_text(const Proposal& proposal);           // "bapipe: 2 stages on 4 devices (3-1)"

// The one stage or transfer that takes as long as the whole plan's bottleneck; none if none does.
struct Bottleneck {
  std::size_t stage = 0;
  bool transfer = false;  // from that stage to the next
};
std::optional<Bottleneck> bottleneck_of(const Proposal& proposal);

}  // namespace pipetrain
