// What is sent, as JSON and as text.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "program/communication.hpp"

namespace pipetrain {

// {"bytes", "messages"} in total; then the lists {"activation_bytes", "activation_messages",
// "gradient_bytes", "gradient_messages"} per boundary and {"all_reduce_bytes",
// "all_reduce_messages"} per stage, if a stage has copies; then the totals {"tied_bytes",
// "tied_messages"}, if stages share parameters, and {"link_seconds"}, if there is a link.
nlohmann::ordered_json communication_json(const Communication& communication);

// "3.1 MiB in 24 messages: activations 1.6 MiB, gradients 1.5 MiB", or "nothing".
std::string communication_text(const Communication& communication);

}  // namespace pipetrain
