// What the passes of one stage take besides its parameters: one block of memory, which training and
// validation use in turn. A segment of training ends drained, so nothing of one is in flight while
// the other runs.
#pragma once

#include <array>
#include <cstddef>

#include "backend/backend.hpp"
#include "compile/pass_needs.hpp"

namespace pipetrain {

// Threading: as its stage. Places are 64-byte aligned; a mode begins with undefined content.
class PassMemory {
 public:
  explicit PassMemory(Stream& stream) : stream_(stream) {}
  PassMemory(const PassMemory&) = delete;
  PassMemory& operator=(const PassMemory&) = delete;
  ~PassMemory();

  // Makes room for the larger of the two modes. If the block has to grow, everything handed out
  // before is invalid. Throws a DeviceError if the device is out of memory.
  void lay_out(const PassNeedsOfModes& needs);
  // Where the needs say that another stage lends its workspace: which. It needs as much or more.
  void borrow(Mode mode, const PassMemory& lender) { lenders_[mode] = &lender; }

  std::byte* slot(Mode mode, int index) const;
  std::byte* input_slot(Mode mode, int index) const;
  std::byte* workspace(Mode mode) const;
  std::byte* scratch(Mode mode) const;
  // The next of the mode's packets; each is handed out once.
  std::byte* take_packet(Mode mode, std::size_t bytes);

 private:
  struct Places {
    std::byte *slots = nullptr, *input_slots = nullptr;
    std::byte* workspace = nullptr;  // and the scratchpad
    std::byte *packets = nullptr, *end = nullptr;
  };
  Places& places(Mode mode) { return places_[mode]; }
  const Places& places(Mode mode) const { return places_[mode]; }

  Stream& stream_;
  PassNeedsOfModes needs_;
  ByMode<Places> places_;
  ByMode<const PassMemory*> lenders_ = {};
  std::byte* block_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace pipetrain
