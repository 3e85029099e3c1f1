#include "backend/cuda/devices.hpp"

#include <spdlog/fmt/fmt.h>

#include <charconv>
#include <string_view>

#include "backend/cuda/handles.hpp"
#include "base/error.hpp"

namespace pipetrain::cuda {
namespace {

constexpr int kMajorMin = 8;  // compute capability for which meson.build makes device code
constexpr std::string_view kWayOut = "or write backend = \"cpu\"";

void check_device(int device, int count) {
  if (device >= count)
    throw DeviceError(
        fmt::format("there is no device \"cuda:{}\": this machine has {}, numbered from "
                    "\"cuda:0\"; name others in hardware.devices, {}",
                    device, count, kWayOut));
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
        "ask for a device's compute capability");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
        "ask for a device's compute capability");
  if (major < kMajorMin)
    throw DeviceError(
        fmt::format("\"cuda:{}\" has compute capability {}.{}, but this build needs {}.0; name "
                    "another device in hardware.devices, {}",
                    device, major, minor, kMajorMin, kWayOut));
}

// Libraries promise that programs compiled for one minor version run with it and with later ones.
// Both arguments count 10000 * major + 100 * minor + patch.
void check_library(std::string_view name, std::size_t found, std::size_t built_for) {
  if (found / 100 >= built_for / 100) return;
  throw DeviceError(fmt::format(
      "{} {}.{} was found, but this build needs {}.{} or later; install a later one, {}", name,
      found / 10000, found / 100 % 100, built_for / 10000, built_for / 100 % 100, kWayOut));
}

// One direction only; call it again with the arguments swapped for the other.
void let_reach(int from, int to) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, from, to), "ask which devices reach each other");
  if (!can) return;
  make_current(from);
  const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) return forget(status);
  check(status, "let one device reach another's memory");
}

}  // namespace

int device_index(const std::string& name) {
  constexpr std::string_view prefix = "cuda:";
  int index = -1;
  if (name.starts_with(prefix)) {
    const char *begin = name.data() + prefix.size(), *end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(begin, end, index);
    if (error != std::errc{} || rest != end) index = -1;
  }
  if (index < 0)
    throw UsageError(fmt::format(
        "hardware.devices: \"{}\" is not a device; write \"cuda:0\", \"cuda:1\" ..", name));
  return index;
}

int count_devices() {
  int driver = 0, count = 0;
  cudaError_t status = cudaDriverGetVersion(&driver);
  if (status == cudaSuccess && driver > 0) status = cudaGetDeviceCount(&count);
  forget(status);  // reported here
  if (driver == 0)
    throw DeviceError(fmt::format(
        "there is no NVIDIA driver on this machine, so no device for backend = \"cuda\"; install "
        "one for CUDA {}, {}",
        CUDART_VERSION / 1000, kWayOut));
  if (status == cudaErrorInsufficientDriver)
    throw DeviceError(
        fmt::format("the NVIDIA driver on this machine is one for CUDA {}.{}, but this build needs "
                    "one for CUDA {}.{}; install a later driver, {}",
                    driver / 1000, driver / 10 % 100, CUDART_VERSION / 1000,
                    CUDART_VERSION / 10 % 100, kWayOut));
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0))
    throw DeviceError(
        fmt::format("this machine has an NVIDIA driver but no device that pipetrain may use; check "
                    "CUDA_VISIBLE_DEVICES and nvidia-smi, {}",
                    kWayOut));
  check(status, "count the devices");
  return count;
}

std::vector<int> find_devices(std::span<const std::string> names) {
  std::vector<int> devices;
  for (const std::string& name : names) devices.push_back(device_index(name));
  if (devices.empty()) devices.push_back(0);
  const int count = count_devices();
  for (const int device : devices) check_device(device, count);
  check_library("cuDNN", cudnnGetVersion(), CUDNN_VERSION);
  check_library("cuBLASLt", cublasLtGetVersion(), CUBLAS_VERSION);
  return devices;
}

void connect(const std::vector<int>& devices) {
  for (const int from : devices)
    for (const int to : devices)
      if (from != to) let_reach(from, to);
}

}  // namespace pipetrain::cuda
