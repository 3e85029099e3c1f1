#include "counting.hpp"

namespace pipetrain::testing {
namespace {

class CountingBackend final : public Backend {
 public:
  CountingBackend(std::unique_ptr<Backend> real, BackendCounts& counts)
      : real_(std::move(real)), counts_(counts) {}
  std::string_view name() const override { return real_->name(); }
  std::unique_ptr<const Lowering> lower(const Graph& graph, const LowerOptions& options) override {
    return real_->lower(graph, options);
  }
  void* allocate(std::size_t bytes) override {
    ++counts_.allocations;
    return real_->allocate(bytes);
  }
  void release(void* memory) noexcept override {
    ++counts_.releases;
    real_->release(memory);
  }
  void apply(const UpdateRule& rule, const UpdateArguments& arguments) override {
    real_->apply(rule, arguments);
    counts_.after_update();
  }
  void combine(const Combination& combination) override { real_->combine(combination); }
  void add_up(const Summation& summation) override { real_->add_up(summation); }
  double sum_of_squares(const float* values, std::int64_t n) override {
    return real_->sum_of_squares(values, n);
  }

 private:
  std::unique_ptr<Backend> real_;
  BackendCounts& counts_;
};

}  // namespace

std::unique_ptr<Backend> counting_backend(std::unique_ptr<Backend> real, BackendCounts& counts) {
  return std::make_unique<CountingBackend>(std::move(real), counts);
}

}  // namespace pipetrain::testing
