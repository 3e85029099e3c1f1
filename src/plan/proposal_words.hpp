// The wording of a plan, on a terminal and in a picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/proposal.hpp"

namespace pipetrain {

std::string ms_text(double ms);                             // "12.35 ms"
std::string layers_text(const ProposedStage& stage);        // "conv1 .. relu2 (4 layers)"
std::string devices_text(const std::vector<int>& devices);  // "0-3 8-11"
std::string title_text(const Proposal& proposal);           // "bapipe: 2 stages on 4 devices (3-1)"
std::string several_stages_text(std::int64_t workers, std::int64_t stages_each);
std::string microbatches_text(const Proposal& proposal);  // "4 micro-batches per mini-batch"
std::string speedup_text(const Proposal& proposal);  // "2.50 over one device; data parallel .."
// What the stage's device holds, "3.0 MiB"; "with stage 0", if that stage has the number already.
std::string held_text(const Proposal& proposal, std::size_t stage);

// The first stage on this one's device: itself, unless an earlier one is there too.
std::size_t first_beside(const Proposal& proposal, std::size_t stage);

// The one device or transfer that takes as long as the whole plan's bottleneck; none if none does.
struct Bottleneck {
  std::vector<std::size_t> stages;  // all of the device, or the one that sends
  bool transfer = false;            // from that stage to the next
  int device = 0;
};
std::optional<Bottleneck> bottleneck_of(const Proposal& proposal);

}  // namespace pipetrain
