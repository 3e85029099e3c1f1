// oneDNN behind one door: its engine, and calls of primitives that are prepared once and allocate
// nothing afterwards. Every failure becomes a DeviceError with the layer's name.
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

// Makes something of oneDNN's for a layer; `what` says what, for the message.
template <class Make>
auto with_onednn(const std::string& layer, const char* what, Make make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    throw_device_error(layer, what, error);
  }
}

// Copies weights into another layout and type. Made again at each call: threads share no primitive.
void reorder(const std::string& layer, const dnnl::memory::desc& from_layout, const void* from,
             const dnnl::memory::desc& to_layout, void* to);

// A primitive and its arguments, without their memory.
class PreparedCall {
 public:
  struct Argument {
    int name;  // DNNL_ARG_SRC ..
    dnnl::memory::desc layout;
  };
  PreparedCall() = default;
  // The scratchpad, if the primitive wants one, is the argument after the last.
  PreparedCall(dnnl::primitive primitive, const std::vector<Argument>& arguments,
               const dnnl::memory::desc& scratchpad);

  explicit operator bool() const { return static_cast<bool>(primitive_); }
  std::size_t scratchpad_bytes() const { return scratchpad_bytes_; }
  // Memory in the order of the arguments, then the scratchpad.
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
