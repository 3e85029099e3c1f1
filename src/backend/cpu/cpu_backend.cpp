#include "backend/cpu/cpu_backend.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "backend/cpu/costs.hpp"
#include "backend/cpu/lowering.hpp"
#include "backend/cpu/sinusoids.hpp"
#include "backend/cpu/update.hpp"
#include "backend/host_stream.hpp"
#include "base/error.hpp"

namespace pipetrain {
namespace {

constexpr std::size_t kAlignment = 64, kLargePage = std::size_t{2} << 20;

// Asks for large pages where whole ones fit into a block, so that the processor has fewer entries
// to look up. The block itself is not aligned to large pages, which would cost up to one more.
void ask_for_large_pages(void* memory, std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + kLargePage - 1) / kLargePage * kLargePage,
                       end = (begin + bytes) / kLargePage * kLargePage;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
}

class CpuStream final : public HostStream {
 public:
  void* allocate(std::size_t bytes) override {
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    void* memory = rounded < bytes ? nullptr : std::aligned_alloc(kAlignment, rounded);
    if (!memory && bytes > 0)
      throw DeviceError(fmt::format(
          "no memory for {} more bytes; use smaller micro-batches, more stages or a smaller model",
          bytes));
    if (memory) {
      ask_for_large_pages(memory, rounded);
      std::memset(memory, 0, rounded);
    }
    return memory;
  }
  void release(void* memory) noexcept override { std::free(memory); }

  void apply(const UpdateRule& rule, const UpdateArguments& arguments) override {
    cpu::update(rule, arguments);
  }
  void combine(const Combination& combination) override { cpu::combine(combination); }
  void add_up(const Summation& summation) override { cpu::add_up(summation); }
  void sum_of_squares(const float* values, std::int64_t elements, double* result) override {
    *result = cpu::sum_of_squares(values, elements);
  }
};

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(cpu::Products products) : products_(products) {}
  std::string_view name() const override { return "cpu"; }
  std::unique_ptr<const Lowering> lower(const Graph& graph, const LowerOptions& options) override {
    return cpu::lower(graph, options, products_, sinusoids_);
  }
  BackendCosts costs(const Graph& graph, Precision precision) const override {
    return cpu::costs(graph, precision, products_);
  }
  std::unique_ptr<Stream> make_stream(const StreamOptions&) override {
    return std::make_unique<CpuStream>();
  }

 private:
  cpu::Products products_;
  cpu::Sinusoids sinusoids_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return make_cpu_backend(cpu::products_here()); }

std::unique_ptr<Backend> make_cpu_backend(cpu::Products of_bf16) {
  return std::make_unique<CpuBackend>(of_bf16);
}

}  // namespace pipetrain
