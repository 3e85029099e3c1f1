// What rank 0's pipeline makes the other ranks do: they make the same calls, each for its own
// stages. Also the tensors of stages as they are sent between ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/state.hpp"
#include "transport/job.hpp"

namespace pipetrain {

struct Command {
  enum class Kind : std::int32_t {
    Train,           // mini-batches [first, first + count)
    Evaluate,        // `count` mini-batches
    PutParameters,   // they follow
    PutState,        // it follows
    TakeParameters,  // of every use; the reply holds them
    TakeState,       // the reply holds it
    SaveState,       // each rank saves its own part
  };
  Kind kind = Kind::Train;
  std::int64_t first = 0, count = 0;
};

void send_command(Job& job, const Command& command);
// The next one from rank 0; none: the job ends. Throws ChannelClosed.
std::optional<Command> next_command(Job& job);

// A note of tensors, stage by stage with their layers; and back.
Note note_of(const std::vector<StageTensors>& stages);
std::vector<StageTensors> stages_in(std::span<const std::byte> note);

}  // namespace pipetrain
