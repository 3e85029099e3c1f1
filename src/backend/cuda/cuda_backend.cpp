#include "backend/cuda/cuda_backend.hpp"

#include <vector>

#include "backend/cuda/convolution.hpp"
#include "backend/cuda/costs.hpp"
#include "backend/cuda/device_stream.hpp"
#include "backend/cuda/devices.hpp"
#include "backend/cuda/lowering.hpp"

namespace pipetrain {
namespace {

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(std::vector<int> devices)
      : devices_(std::move(devices)), convolutions_(devices_) {
    cuda::connect(devices_);
  }

  std::string_view name() const override { return "cuda"; }

  // options.recomputes changes nothing here: no layer does part of its neighbour's backward.
  std::unique_ptr<const Lowering> lower(const Graph& graph, const LowerOptions& options) override {
    refuse_bf16(name(), options);
    return cuda::lower(graph, convolutions_);
  }
  BackendCosts costs(const Graph& graph, Precision) const override { return cuda::costs(graph); }

  std::unique_ptr<Stream> make_stream(const StreamOptions& options) override {
    return std::make_unique<cuda::DeviceStream>(device_of(options));
  }
  int device_of(const StreamOptions& options) const override {
    const auto worker = static_cast<std::size_t>(options.worker),
               workers = static_cast<std::size_t>(options.workers);
    return devices_[worker * devices_.size() / workers];
  }
  bool asynchronous() const override { return true; }

 private:
  std::vector<int> devices_;
  cuda::ConvolutionAlgorithms convolutions_;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(std::span<const std::string> devices) {
  return std::make_unique<CudaBackend>(cuda::find_devices(devices));
}

}  // namespace pipetrain
