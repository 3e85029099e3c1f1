#include "compile/pass_needs.hpp"

#include "base/cache_line.hpp"

namespace pipetrain {

std::size_t PassNeeds::slots_bytes() const {
  return static_cast<std::size_t>(slots) * whole_lines(each.slot);
}

std::size_t PassNeeds::input_slots_bytes() const {
  return static_cast<std::size_t>(input_slots) * whole_lines(each.input_slot);
}

std::size_t PassNeeds::workspace_bytes() const {
  return whole_lines(each.workspace) + whole_lines(each.scratch);
}

std::size_t PassNeeds::block_bytes() const { return account().total() - whole_lines(received); }

MemoryAccount PassNeeds::account() const {
  MemoryAccount account;
  account[Use::Activations] = slots_bytes() + input_slots_bytes();
  account[Use::Workspace] = lender ? 0 : workspace_bytes();
  account[Use::Packets] = whole_lines(packets) + whole_lines(received);
  return account;
}

}  // namespace pipetrain
