#include "runtime/pass_memory.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace pipetrain {
namespace {

std::size_t lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

std::size_t slots_bytes(const PassNeeds& needs) {
  return static_cast<std::size_t>(needs.slots) * lines(needs.each.slot);
}

std::size_t input_slots_bytes(const PassNeeds& needs) {
  return static_cast<std::size_t>(needs.input_slots) * lines(needs.each.input_slot);
}

}  // namespace

MemoryAccount PassNeeds::account() const {
  MemoryAccount account;
  account[Use::Activations] = slots_bytes(*this) + input_slots_bytes(*this);
  account[Use::Workspace] = lines(each.workspace) + lines(each.scratch);
  account[Use::Packets] = lines(packets);
  return account;
}

PassMemory::~PassMemory() {
  if (block_) stream_.release(block_);
}

void PassMemory::lay_out(const PassNeedsOfModes& needs) {
  needs_ = needs;
  const std::size_t bytes = std::max(needs[0].account().total(), needs[1].account().total());
  if (bytes > bytes_) {
    if (block_) stream_.release(std::exchange(block_, nullptr));
    bytes_ = 0;
    block_ = static_cast<std::byte*>(stream_.allocate(bytes));
    bytes_ = bytes;
  }
  for (const Mode mode : {Mode::Train, Mode::Evaluate}) {
    const PassNeeds& need = needs[static_cast<std::size_t>(mode)];
    std::byte* next = block_;
    const auto take = [&](std::size_t size) { return std::exchange(next, next + lines(size)); };
    Places& its = places(mode);
    its.slots = take(slots_bytes(need));
    its.input_slots = take(input_slots_bytes(need));
    its.workspace = take(need.each.workspace);
    its.scratch = take(need.each.scratch);
    its.packets = take(need.packets);
    its.end = next;
  }
}

std::byte* PassMemory::slot(Mode mode, int index) const {
  const PassNeeds& need = needs_[static_cast<std::size_t>(mode)];
  return places(mode).slots + static_cast<std::size_t>(index) * lines(need.each.slot);
}

std::byte* PassMemory::input_slot(Mode mode, int index) const {
  const PassNeeds& need = needs_[static_cast<std::size_t>(mode)];
  return places(mode).input_slots + static_cast<std::size_t>(index) * lines(need.each.input_slot);
}

std::byte* PassMemory::take_packet(Mode mode, std::size_t bytes) {
  Places& its = places(mode);
  PIPETRAIN_CHECK(static_cast<std::size_t>(its.end - its.packets) >= lines(bytes),
                  "no room for a packet of {} bytes", bytes);
  return std::exchange(its.packets, its.packets + lines(bytes));
}

}  // namespace pipetrain
