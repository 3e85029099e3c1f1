#include "backend/cpu/onednn.hpp"

#include <spdlog/fmt/fmt.h>

#include "base/check.hpp"
#include "base/error.hpp"

namespace pipetrain::cpu {

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

void throw_device_error(const std::string& layer, const char* what, const dnnl::error& error) {
  throw DeviceError(fmt::format(
      "layer \"{}\": oneDNN cannot do its {}: {} (status {}); try backend = \"reference\"", layer,
      what, error.what(), static_cast<int>(error.status)));
}

void reorder(const std::string& layer, const dnnl::memory::desc& from_layout, const void* from,
             const dnnl::memory::desc& to_layout, void* to) {
  with_onednn(layer, "packing of weights", [&] {
    dnnl::memory source(from_layout, engine(), const_cast<void*>(from)),
        target(to_layout, engine(), to);
    dnnl::stream stream(engine());
    dnnl::reorder(source, target).execute(stream, source, target);
    stream.wait();
  });
}

PreparedCall::PreparedCall(dnnl::primitive primitive, const std::vector<Argument>& arguments,
                           const dnnl::memory::desc& scratchpad)
    : primitive_(std::move(primitive)),
      stream_(engine()),
      scratchpad_bytes_(scratchpad.is_zero() ? 0 : scratchpad.get_size()) {
  const auto add = [&](int name, const dnnl::memory::desc& layout) {
    memory_.emplace_back(layout, engine(), nullptr);
    arguments_.push_back({name, memory_.back().get()});
  };
  for (const Argument& argument : arguments) add(argument.name, argument.layout);
  if (scratchpad_bytes_ > 0) add(DNNL_ARG_SCRATCHPAD, scratchpad);
}

void PreparedCall::operator()(const std::string& layer, std::span<const void* const> memory) {
  PIPETRAIN_CHECK(memory.size() >= memory_.size(), "layer {}: {} of {} arguments", layer,
                  memory.size(), memory_.size());
  auto handle = memory.begin();
  for (dnnl::memory& argument : memory_) argument.set_data_handle(const_cast<void*>(*handle++));
  const dnnl_status_t status = dnnl_primitive_execute(
      primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
  if (status != dnnl_success)
    throw_device_error(layer, "computation", dnnl::error(status, "execution failed"));
}

}  // namespace pipetrain::cpu
