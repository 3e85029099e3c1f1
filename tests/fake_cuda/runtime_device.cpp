// CUDA's functions that ask about devices and errors.
#include <cstdio>

#include "fake_cuda/world.hpp"

using fake_cuda::runtime_call;
using fake_cuda::thread;
using fake_cuda::world;

namespace {

constexpr int version = CUDART_VERSION;

bool is_device(int device) { return device >= 0 && device < world().options.devices; }

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return runtime_call([&] {
    *count = world().options.devices;
    return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
  });
}

cudaError_t cudaSetDevice(int device) {
  return runtime_call([&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    thread().device = device;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return runtime_call([&] {
    *device = thread().device;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return runtime_call([&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "fake GPU %d", device);
    properties->totalGlobalMem = world().options.device_bytes;
    properties->major = 9;
    properties->multiProcessorCount = 4;
    properties->maxThreadsPerBlock = 1024;
    properties->warpSize = 32;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return runtime_call([&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    switch (attribute) {
      case cudaDevAttrComputeCapabilityMajor:
        *value = 9;
        break;
      case cudaDevAttrComputeCapabilityMinor:
        *value = 0;
        break;
      case cudaDevAttrMultiProcessorCount:
        *value = 4;
        break;
      case cudaDevAttrClockRate:
        *value = 1'000'000;
        break;
      case cudaDevAttrMemoryClockRate:
        *value = 1'000'000;
        break;
      case cudaDevAttrGlobalMemoryBusWidth:
        *value = 256;
        break;
      case cudaDevAttrMaxThreadsPerBlock:
        *value = 1024;
        break;
      default:
        return cudaErrorInvalidValue;  // nothing has asked for it so far
    }
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* number) {
  return runtime_call([&] {
    *number = version;
    return cudaSuccess;
  });
}

cudaError_t cudaRuntimeGetVersion(int* number) {
  return runtime_call([&] {
    *number = version;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return runtime_call([&] {
    if (!is_device(device) || !is_device(peer)) return cudaErrorInvalidDevice;
    *can = world().options.peers && device != peer;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return runtime_call([&] {
    if (!is_device(peer) || peer == thread().device) return cudaErrorInvalidDevice;
    if (flags != 0) return cudaErrorInvalidValue;
    if (!world().options.peers) return cudaErrorPeerAccessUnsupported;
    const bool fresh = world().peers.insert({thread().device, peer}).second;
    return fresh ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
  });
}

cudaError_t cudaGetLastError() {
  const auto held = fake_cuda::lock();
  return std::exchange(thread().last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  const auto held = fake_cuda::lock();
  return thread().last_error;
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    default:
      return "cudaErrorUnknown";
  }
}

const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }

}  // extern "C"
