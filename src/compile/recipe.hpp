// How one stage computes one micro-batch: a flat list of kernel calls, with every operand's place
// worked out before training, so that running it is a loop without decisions or allocations.
//
// Where an operand can be:
//
//   Slot         kept from forward to backward, one per micro-batch in flight; if activations are
//                recomputed, one per micro-batch between its recomputation and its backward
//   InputSlot    if activations are recomputed: the loaded input, kept from forward to backward
//   Workspace    shared by all micro-batches, reused within a pass by liveness
//   Input        on the first stage: plain inputs, if the backend reads them as they come
//   PacketIn     activations from the previous stage    GradientIn   from the next stage
//   PacketOut    activations for the next stage         GradientOut  for the previous stage
//
// A value that several layers read (a fan-out) has its gradient summed from the last reader to the
// first, over cuts too: what a later stage sent is the partial sum so far. So no cut changes a bit.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "base/indexed.hpp"

namespace pipetrain {

struct Graph;

enum class Area {
  None,
  Slot,
  Workspace,
  PacketIn,
  PacketOut,
  GradientIn,
  GradientOut,
  InputSlot,
  Input
};
inline constexpr int area_count = 9;

struct Place {
  Area area = Area::None;
  std::size_t offset = 0;
};

struct Step {
  enum class Kind { Forward, BackwardInput, BackwardWeight, Add, Copy };
  Kind kind = Kind::Forward;
  int layer = 0;              // within the stage
  std::vector<Place> inputs;  // Add: [addend]; Copy: [source]
  Place output;               // Add, Copy: the destination
  Place output_gradient;
  std::vector<Place> input_gradients;
  Place saved;
  ValueId value;          // Add: whose gradient
  std::size_t bytes = 0;  // Copy
};

// The tensors that cross one cut in one packet.
struct PacketLayout {
  std::vector<ValueId> values;
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
};

struct Recipe {
  std::vector<Step> forward;
  std::vector<Step> backward;  // both halves; BackwardInput runs all but the BackwardWeight steps
  std::size_t head = 0;        // this many of its steps complete the gradients that leave the stage
  std::size_t slot_bytes = 0, input_slot_bytes = 0, workspace_bytes = 0, scratch_bytes = 0;
  std::size_t sent_activations = 0, sent_gradients = 0;  // bytes that are sent, to either neighbour
  std::size_t packet_out = 0;  // where a recomputation's outputs are in the slot
  Place input;                 // stage 0: where the graph's input is loaded; none if it is not
  Place output;                // last stage: what the loss reads
  Place loss_gradient;         // last stage: what the loss writes
};

struct RecipeInput {
  const Graph& graph;
  const Lowering& lowering;
  LayerId first, last;  // the stage's layers, inclusive
  std::span<const std::unique_ptr<Kernel>> kernels;
  int samples = 1;
  Mode mode = Mode::Train;
  bool split_backward =
      false;                // halves run separately: what the second half reads goes to the slot
  bool recomputes = false;  // activations are recomputed for the backward
  const Indexed<bool, LayerId>* recomputed = nullptr;  // the graph's layers that run again in the
                                                       // backward if it reads their output; null:
                                                       // none
};

Recipe make_recipe(const RecipeInput& input);

// The packets at the cut before layer `next`: every value made before it and read at or after it,
// or the gradients of those that have one.
PacketLayout activation_packet(const Graph& graph, const Lowering& lowering, LayerId next,
                               int samples);
PacketLayout gradient_packet(const Graph& graph, const Lowering& lowering, LayerId next,
                             int samples);

}  // namespace pipetrain
