// The backends in this binary, by name. "cuda" takes the names of its devices.
#include "backend/backend.hpp"

#include <spdlog/fmt/fmt.h>

#include "backend/cpu/cpu_backend.hpp"
#include "backend/cuda/cuda_backend.hpp"
#include "backend/reference/reference_backend.hpp"
#include "base/error.hpp"

namespace pipetrain {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Backend> (*make)();
};

constexpr Entry backends[] = {
    {"cpu", make_cpu_backend},
    {"reference", make_reference_backend},
};

}  // namespace

void refuse_bf16(std::string_view backend, const LowerOptions& options) {
  if (options.precision == Precision::F32) return;
  throw UsageError(fmt::format(
      "the {} backend computes in f32; write training.precision = \"f32\", or backend = \"cpu\"",
      backend));
}

std::unique_ptr<Backend> make_backend(std::string_view name, std::span<const std::string> devices) {
  if (name == "cuda") return make_cuda_backend(devices);
  for (const Entry& entry : backends)
    if (entry.name == name) return entry.make();
  throw UsageError(fmt::format(
      "there is no backend \"{}\"; write backend = \"cpu\", \"cuda\" or \"reference\"", name));
}

}  // namespace pipetrain
