// The micro-batches between their forward and their backward on one stage: the activation slot that
// each has, and the packets that it holds. A micro-batch takes a slot when it arrives, and gives it
// back when its backward, or an evaluation's forward, no longer needs it.
//
// Threading: used by one worker.
#pragma once

#include <cstddef>
#include <vector>

#include "base/ids.hpp"
#include "base/lengths.hpp"
#include "transport/channel.hpp"

namespace pipetrain {

struct Flight {
  int slot = -1, input_slot = -1, samples = 0;
  const void* input = nullptr;  // first stage: in the loader's memory
  Lengths lengths;
  bool open = false;
  int forward_version = 0;
  Packet *in = nullptr, *out = nullptr, *gradient_in = nullptr, *gradient_out = nullptr;
};

class Flights {
 public:
  struct Room {
    int microbatches = 1;  // in the program: more than can be open at once
    int slots = 1;
    // If activations are recomputed: a micro-batch keeps only its input, and has a slot only while
    // a pass runs. 0: nothing is recomputed.
    int input_slots = 0;
  };
  explicit Flights(const Room& room);

  Flight& of(MicrobatchId m) { return ring_[index(m)]; }
  const Flight& of(MicrobatchId m) const { return ring_[index(m)]; }

  Flight& open(MicrobatchId m, int samples, const Lengths& lengths);
  void close(MicrobatchId m);  // the caller releases its packets

  void take_slot(MicrobatchId m);  // if activations are recomputed, for one pass
  void give_slot(MicrobatchId m);

 private:
  std::size_t index(MicrobatchId m) const {
    return static_cast<std::size_t>(m.value) % ring_.size();
  }

  const bool recomputes_;
  std::vector<Flight> ring_;  // one per micro-batch of the program: more than can be open
  std::vector<int> free_slots_, free_input_slots_;
};

}  // namespace pipetrain
