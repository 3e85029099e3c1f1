// What rank 0's pipeline has those of the other ranks do: they run the same calls, of which each
// does its own stages' part. And the tensors of stages, as they cross between ranks.
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
    PutParameters,   // which follow
    PutState,        // which follows
    TakeParameters,  // of every use, in reply
    TakeState,       // in reply
    SaveState,       // each rank saves its own
  };
  Kind kind = Kind::Train;
  std::int64_t first = 0, count = 0;
};

void send_command(Job& job, const Command& command);
// The next one from rank 0; none: the job ends. ChannelClosed.
std::optional<Command> next_command(Job& job);

// A note of tensors with the layers that they are of, and the same back.
Note note_of(const std::vector<StageTensors>& stages);
std::vector<StageTensors> stages_in(std::span<const std::byte> note);

}  // namespace pipetrain
