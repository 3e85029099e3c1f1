// A call of a oneDNN primitive whose operands may be in other layouts than the primitive works in.
// Such operands are converted in scratch memory, before or after the call.
#pragma once

#include "backend/cpu/onednn.hpp"

namespace pipetrain::cpu {

class ConvertedCall {
 public:
  enum class Access { Read, Write };
  struct Operand {
    int name;  // DNNL_ARG_SRC, ..
    Access access;
    dnnl::memory::desc outside, inside;  // as stored; as the primitive wants it
  };
  ConvertedCall() = default;
  ConvertedCall(dnnl::primitive primitive, const std::vector<Operand>& operands,
                const dnnl::memory::desc& scratchpad);

  std::size_t scratch_bytes() const { return copies_bytes_ + scratchpad_bytes_; }
  // Memory in the order of the operands, then scratch.
  void operator()(const std::string& layer, std::initializer_list<const void*> memory);

 private:
  struct Conversion {
    std::size_t operand;
    Access access;
    std::size_t offset;  // of the copy, in scratch
    PreparedCall reorder;
  };

  PreparedCall call_;
  std::vector<Conversion> conversions_;
  std::size_t copies_bytes_ = 0, scratchpad_bytes_ = 0;
  std::vector<const void*> memory_;  // of the current call
};

}  // namespace pipetrain::cpu
