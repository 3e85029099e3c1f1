#include "backend/reference/reference_backend.hpp"

#include <spdlog/fmt/fmt.h>

#include <cstring>
#include <new>

#include "backend/host_stream.hpp"
#include "backend/reference/costs.hpp"
#include "backend/reference/lowering.hpp"
#include "backend/reference/update.hpp"
#include "base/error.hpp"

namespace pipetrain {
namespace {

constexpr std::align_val_t alignment{64};

class ReferenceStream final : public HostStream {
 public:
  void* allocate(std::size_t bytes) override {
    void* memory = ::operator new(bytes, alignment, std::nothrow);
    if (!memory)
      throw DeviceError(fmt::format(
          "out of memory: {} more bytes were needed; use a smaller batch_size or more microbatches",
          bytes));
    return std::memset(memory, 0, bytes);
  }
  void release(void* memory) noexcept override { ::operator delete(memory, alignment); }

  void apply(const UpdateRule& rule, const UpdateArguments& arguments) override {
    if (arguments.sum_of_squares)
      sum_of_squares(arguments.gradient, arguments.elements, arguments.sum_of_squares);
    reference::update(rule, arguments);
  }
  void combine(const Combination& combination) override { reference::combine(combination); }
  void add_up(const Summation& summation) override { reference::add_up(summation); }

  void sum_of_squares(const float* values, std::int64_t elements, double* result) override {
    double sum = 0;
    for (std::int64_t i = 0; i < elements; ++i) sum += double{values[i]} * values[i];
    *result = sum;
  }
};

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  std::unique_ptr<const Lowering> lower(const Graph& graph, const LowerOptions& options) override {
    refuse_bf16(name(), options);
    return reference::lower(graph);
  }
  BackendCosts costs(const Graph& graph, Precision) const override {
    return reference::costs(graph);
  }
  std::unique_ptr<Stream> make_stream(const StreamOptions&) override {
    return std::make_unique<ReferenceStream>();
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace pipetrain
