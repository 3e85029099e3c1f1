#include "backend/cpu/cpu_backend.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "backend/cpu/lowering.hpp"
#include "backend/cpu/update.hpp"
#include "base/error.hpp"

namespace pipetrain {
namespace {

constexpr std::size_t kAlignment = 64, kLargePage = std::size_t{2} << 20;

// Large blocks begin at a large page, and those that they fill are asked for: fewer entries for the
// processor to look up.
void* allocate_pages(std::size_t bytes) {
  const bool large = bytes >= kLargePage;
  void* memory = nullptr;
  if (posix_memalign(&memory, large ? kLargePage : kAlignment, bytes) != 0) return nullptr;
#ifdef MADV_HUGEPAGE
  if (large) madvise(memory, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
#endif
  return memory;
}

class CpuBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }

  std::unique_ptr<const Lowering> lower(const Graph& graph, const LowerOptions& options) override {
    return cpu::lower(graph, options);
  }

  void* allocate(std::size_t bytes) override {
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    void* memory = rounded < bytes ? nullptr : allocate_pages(rounded);
    if (!memory && bytes > 0)
      throw DeviceError(fmt::format(
          "no memory for {} more bytes; use smaller micro-batches, more stages or a smaller model",
          bytes));
    if (memory) std::memset(memory, 0, rounded);
    return memory;
  }
  void release(void* memory) noexcept override { std::free(memory); }

  void apply(const UpdateRule& rule, const UpdateArguments& arguments) override {
    cpu::update(rule, arguments);
  }
  void combine(const Combination& combination) override { cpu::combine(combination); }
  double sum_of_squares(const float* values, std::int64_t elements) override {
    return cpu::sum_of_squares(values, elements);
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace pipetrain
