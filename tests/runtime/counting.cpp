#include "counting.hpp"

#include "forwarding.hpp"

namespace pipetrain::testing {
namespace {

class CountingStream final : public ForwardingStream {
 public:
  CountingStream(std::unique_ptr<Stream> real, BackendCounts& counts)
      : ForwardingStream(std::move(real)), counts_(counts) {}
  void* allocate(std::size_t bytes) override {
    ++counts_.allocations;
    return ForwardingStream::allocate(bytes);
  }
  void release(void* memory) noexcept override {
    ++counts_.releases;
    ForwardingStream::release(memory);
  }
  void apply(const UpdateRule& rule, const UpdateArguments& arguments) override {
    ForwardingStream::apply(rule, arguments);
    counts_.after_update();
  }

 private:
  BackendCounts& counts_;
};

// For host backends, whose kernels do not look at the stream.
class CountingBackend final : public Backend {
 public:
  CountingBackend(std::unique_ptr<Backend> real, BackendCounts& counts)
      : real_(std::move(real)), counts_(counts) {}
  std::string_view name() const override { return real_->name(); }
  std::unique_ptr<const Lowering> lower(const Graph& graph, const LowerOptions& options) override {
    return real_->lower(graph, options);
  }
  BackendCosts costs(const Graph& graph, Precision precision) const override {
    return real_->costs(graph, precision);
  }
  std::unique_ptr<Stream> make_stream(const StreamOptions& options) override {
    return std::make_unique<CountingStream>(real_->make_stream(options), counts_);
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
