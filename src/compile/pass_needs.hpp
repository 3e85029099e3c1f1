// What the passes of one stage take in one mode, worked out before any of it is taken.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "base/ids.hpp"
#include "compile/compiled_stage.hpp"
#include "compile/memory_account.hpp"

namespace pipetrain {

// Of the packets that one copy of a stage sends or receives.
struct PacketBytes {
  ByMode<std::size_t> own = {};  // in the stage's memory
  std::size_t received = 0;      // from other ranks, in all modes: in the channels' own memory
};

struct StageCopy {
  StageId stage;
  int copy = 0;
  bool operator==(const StageCopy&) const = default;
};

struct PassNeeds {  // in one mode
  StageSizes each = {};
  int slots = 0, input_slots = 0;  // each.slot and each.input_slot bytes each
  std::size_t packets = 0;         // bytes of all packets in the stage's memory
  std::size_t received = 0;        // PacketBytes::received
  // Whose workspace and scratchpad it uses; none: its own (compile/shared_workspaces.hpp).
  std::optional<StageCopy> lender = {};

  std::size_t slots_bytes() const;  // of all slots, each starting at a cache line
  std::size_t input_slots_bytes() const;
  std::size_t workspace_bytes() const;  // with the scratchpad, its own or lent
  std::size_t block_bytes() const;      // of the stage's memory
  MemoryAccount account() const;        // with what is received
};

// By mode.
using PassNeedsOfModes = ByMode<PassNeeds>;

}  // namespace pipetrain
