#include "stage/pass_memory.hpp"

#include <algorithm>
#include <utility>

#include "base/cache_line.hpp"
#include "base/check.hpp"

namespace pipetrain {
PassMemory::~PassMemory() {
  if (block_) stream_.release(block_);
}

void PassMemory::lay_out(const PassNeedsOfModes& needs) {
  needs_ = needs;
  const std::size_t bytes = std::max(needs[0].block_bytes(), needs[1].block_bytes());
  if (bytes > bytes_) {
    if (block_) stream_.release(std::exchange(block_, nullptr));
    bytes_ = 0;
    block_ = static_cast<std::byte*>(stream_.allocate(bytes));
    bytes_ = bytes;
  }
  for (const Mode mode : {Mode::Train, Mode::Evaluate}) {
    const PassNeeds& need = needs[mode];
    std::byte* next = block_;
    const auto take = [&](std::size_t size) {
      return std::exchange(next, next + whole_lines(size));
    };
    Places& its = places(mode);
    its.slots = take(need.slots_bytes());
    its.input_slots = take(need.input_slots_bytes());
    its.workspace = take(need.lender ? 0 : need.workspace_bytes());
    its.packets = take(need.packets);
    its.end = next;
  }
}

std::byte* PassMemory::slot(Mode mode, int index) const {
  const PassNeeds& need = needs_[mode];
  return places(mode).slots + static_cast<std::size_t>(index) * whole_lines(need.each.slot);
}

std::byte* PassMemory::input_slot(Mode mode, int index) const {
  const PassNeeds& need = needs_[mode];
  return places(mode).input_slots +
         static_cast<std::size_t>(index) * whole_lines(need.each.input_slot);
}

std::byte* PassMemory::workspace(Mode mode) const {
  if (!needs_[mode].lender) return places(mode).workspace;
  const PassMemory* lender = lenders_[mode];
  PIPETRAIN_CHECK(
      lender && lender->needs_[mode].workspace_bytes() >= needs_[mode].workspace_bytes(),
      "a workspace of {} bytes is not lent", needs_[mode].workspace_bytes());
  return lender->places(mode).workspace;
}

std::byte* PassMemory::scratch(Mode mode) const {
  return workspace(mode) + whole_lines(needs_[mode].each.workspace);
}

std::byte* PassMemory::take_packet(Mode mode, std::size_t bytes) {
  Places& its = places(mode);
  PIPETRAIN_CHECK(static_cast<std::size_t>(its.end - its.packets) >= whole_lines(bytes),
                  "no room for a packet of {} bytes", bytes);
  return std::exchange(its.packets, its.packets + whole_lines(bytes));
}

}  // namespace pipetrain
