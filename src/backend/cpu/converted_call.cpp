#include "backend/cpu/converted_call.hpp"

#include <algorithm>

namespace pipetrain::cpu {
namespace {

constexpr std::size_t kAlignment = 64;

PreparedCall reorder_call(const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc description(engine(), from, engine(), to, attributes);
  return {dnnl::reorder(description),
          {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}},
          description.scratchpad_desc()};
}

}  // namespace

ConvertedCall::ConvertedCall(dnnl::primitive primitive, const std::vector<Operand>& operands,
                             const dnnl::memory::desc& scratchpad) {
  std::vector<PreparedCall::Argument> arguments;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto& [name, access, outside, inside] = operands[i];
    arguments.push_back({name, inside});
    if (outside == inside) continue;
    conversions_.push_back(
        {i, access, copies_bytes_,
         access == Access::Read ? reorder_call(outside, inside) : reorder_call(inside, outside)});
    copies_bytes_ += (inside.get_size() + kAlignment - 1) / kAlignment * kAlignment;
  }
  call_ = {std::move(primitive), arguments, scratchpad};
  scratchpad_bytes_ = call_.scratchpad_bytes();
  for (const Conversion& c : conversions_)
    scratchpad_bytes_ = std::max(scratchpad_bytes_, c.reorder.scratchpad_bytes());
}

void ConvertedCall::operator()(const std::string& layer,
                               std::initializer_list<const void*> memory) {
  if (conversions_.empty()) return call_(layer, memory);
  memory_.assign(memory.begin(), memory.end());
  const auto* const scratch = static_cast<const std::byte*>(memory_.back());
  const void* const scratchpad = scratch + copies_bytes_;
  memory_.back() = scratchpad;
  for (Conversion& c : conversions_) {
    memory_[c.operand] = scratch + c.offset;
    if (c.access == Access::Read)
      c.reorder(layer, {memory.begin()[c.operand], memory_[c.operand], scratchpad});
  }
  call_(layer, memory_);
  for (Conversion& c : conversions_)
    if (c.access == Access::Write)
      c.reorder(layer, {memory_[c.operand], memory.begin()[c.operand], scratchpad});
}

}  // namespace pipetrain::cpu
