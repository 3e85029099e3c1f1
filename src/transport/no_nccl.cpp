// Replaces nccl.cpp in a build without the library or its header.
#include "base/error.hpp"
#include "transport/nccl_calls.hpp"

namespace pipetrain {

std::unique_ptr<NcclCalls> make_nccl_calls() {
  throw DeviceError(
      "this pipetrain was built without NCCL, which carries tensors between the GPUs of several "
      "processes: install its header and library beside the CUDA toolkit and build again with "
      "-Dcuda=enabled -Dnccl=enabled");
}

std::string nccl_version() { return "none"; }

}  // namespace pipetrain
