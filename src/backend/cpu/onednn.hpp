// The one interface to oneDNN: its engine, and primitives that are prepared once and allocate
// nothing when called. Every failure becomes a DeviceError with the layer's name.
#pragma once

#include <initializer_list>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pipetrain::cpu {

const dnnl::engine& engine();

[[noreturn]] void throw_device_error(const std::string& layer, const char* what,
                                     const dnnl::error& error);

// Makes a oneDNN object for a layer; `what` names the object in the error message.
template <class Make>
auto with_onednn(const std::string& layer, const char* what, Make make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    throw_device_error(layer, what, error);
  }
}

// Copies weights into another layout and type. Makes its primitive at each call, because threads
// share none.
void reorder(const std::string& layer, const dnnl::memory::desc& from_layout, const void* from,
             const dnnl::memory::desc& to_layout, void* to);

// A primitive and its arguments, without their memory.
class PreparedCall {
 public:
  struct Argument {
    int name;  // DNNL_ARG_SRC, ..
    dnnl::memory::desc layout;
  };
  PreparedCall() = default;
  // The scratchpad, if the primitive wants one, comes after the last argument.
  PreparedCall(dnnl::primitive primitive, const std::vector<Argument>& arguments,
               const dnnl::memory::desc& scratchpad);

  explicit operator bool() const { return static_cast<bool>(primitive_); }
  std::size_t scratchpad_bytes() const { return scratchpad_bytes_; }
  // `memory`: in the order of the arguments, then the scratchpad.
  void operator()(const std::string& layer, std::span<const void* const> memory);
  void operator()(const std::string& layer, std::initializer_list<const void*> memory) {
    (*this)(layer, std::span(memory.begin(), memory.size()));
  }

 private:
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memory_;
  std::vector<dnnl_exec_arg_t> arguments_;
  std::size_t scratchpad_bytes_ = 0;
};

}  // namespace pipetrain::cpu
