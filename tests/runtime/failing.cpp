#include "failing.hpp"

#include "base/error.hpp"
#include "forwarding.hpp"

namespace pipetrain::testing {

void Countdown::tick() {
  if (--left_ != 0) return;
  fired_ = true;
  throw DeviceError("the test's fault");
}

namespace {

class FailingKernel final : public Kernel {
 public:
  FailingKernel(std::unique_ptr<Kernel> real, Countdown& countdown)
      : real_(std::move(real)), countdown_(countdown) {}
  const KernelTraits& traits() const override { return real_->traits(); }
  void forward(const ForwardArguments& a) override {
    countdown_.tick();
    real_->forward(ForwardingStream::with_real(a));
  }
  void backward_input(const BackwardInputArguments& a) override {
    countdown_.tick();
    real_->backward_input(ForwardingStream::with_real(a));
  }
  void backward_weight(const BackwardWeightArguments& a) override {
    countdown_.tick();
    real_->backward_weight(ForwardingStream::with_real(a));
  }
  void update(Stream& stream, const FusedUpdate& u, void* scratch) override {
    countdown_.tick();
    real_->update(ForwardingStream::real(stream), u, scratch);
  }

 private:
  std::unique_ptr<Kernel> real_;
  Countdown& countdown_;
};

class RealLoss final : public LossKernel {
 public:
  explicit RealLoss(std::unique_ptr<LossKernel> real) : real_(std::move(real)) {}
  std::size_t scratch_bytes() const override { return real_->scratch_bytes(); }
  void forward(const LossArguments& a, LossResult* result) override {
    real_->forward(ForwardingStream::with_real(a), result);
  }
  void backward(const LossArguments& a, double scale, void* gradient) override {
    real_->backward(ForwardingStream::with_real(a), scale, gradient);
  }

 private:
  std::unique_ptr<LossKernel> real_;
};

class FailingLowering final : public Lowering {
 public:
  FailingLowering(std::unique_ptr<const Lowering> real, Countdown& countdown)
      : real_(std::move(real)), countdown_(countdown) {}
  std::size_t value_bytes(ValueId v, int n) const override { return real_->value_bytes(v, n); }
  bool reads_plain_input() const override { return real_->reads_plain_input(); }
  void load_input(Stream& s, const void* plain, int n, void* stored) const override {
    real_->load_input(ForwardingStream::real(s), plain, n, stored);
  }
  void store_value(Stream& s, ValueId v, const void* stored, int n, float* plain) const override {
    real_->store_value(ForwardingStream::real(s), v, stored, n, plain);
  }
  void add_value(Stream& s, ValueId v, int n, void* a, const void* b) const override {
    real_->add_value(ForwardingStream::real(s), v, n, a, b);
  }
  std::size_t parameter_bytes(LayerId l, int p) const override {
    return real_->parameter_bytes(l, p);
  }
  void load_parameter(Stream& s, LayerId l, int p, const float* plain,
                      void* stored) const override {
    real_->load_parameter(ForwardingStream::real(s), l, p, plain, stored);
  }
  void store_parameter(Stream& s, LayerId l, int p, const void* stored,
                       float* plain) const override {
    real_->store_parameter(ForwardingStream::real(s), l, p, stored, plain);
  }
  std::size_t packed_bytes(LayerId l, Pass pass) const override {
    return real_->packed_bytes(l, pass);
  }
  void pack(Stream& s, LayerId l, Pass pass, std::span<const void* const> parameters,
            void* packed) const override {
    real_->pack(ForwardingStream::real(s), l, pass, parameters, packed);
  }
  std::unique_ptr<Kernel> make_kernel(LayerId l, const KernelOptions& options) const override {
    return std::make_unique<FailingKernel>(real_->make_kernel(l, options), countdown_);
  }
  std::unique_ptr<LossKernel> make_loss(int n) const override {
    return std::make_unique<RealLoss>(real_->make_loss(n));
  }

 private:
  std::unique_ptr<const Lowering> real_;
  Countdown& countdown_;
};

class FailingStream final : public ForwardingStream {
 public:
  FailingStream(std::unique_ptr<Stream> real, Countdown& countdown)
      : ForwardingStream(std::move(real)), countdown_(countdown) {}
  void apply(const UpdateRule& rule, const UpdateArguments& arguments) override {
    countdown_.tick();
    ForwardingStream::apply(rule, arguments);
  }

 private:
  Countdown& countdown_;
};

class FailingBackend final : public Backend {
 public:
  FailingBackend(std::unique_ptr<Backend> real, Countdown& countdown)
      : real_(std::move(real)), countdown_(countdown) {}
  std::string_view name() const override { return real_->name(); }
  std::unique_ptr<const Lowering> lower(const Graph& graph, const LowerOptions& options) override {
    return std::make_unique<FailingLowering>(real_->lower(graph, options), countdown_);
  }
  BackendCosts costs(const Graph& graph, Precision precision) const override {
    return real_->costs(graph, precision);
  }
  std::unique_ptr<Stream> make_stream(const StreamOptions& options) override {
    return std::make_unique<FailingStream>(real_->make_stream(options), countdown_);
  }
  int device_of(const StreamOptions& options) const override { return real_->device_of(options); }

 private:
  std::unique_ptr<Backend> real_;
  Countdown& countdown_;
};

class FailingChannel final : public Channel {
 public:
  FailingChannel(std::unique_ptr<Channel> real, Countdown& countdown)
      : real_(std::move(real)), countdown_(countdown) {}
  Packet* acquire() override {
    countdown_.tick();
    return real_->acquire();
  }
  void send(Packet* packet) override {
    countdown_.tick();
    real_->send(packet);
  }
  Packet* receive() override {
    countdown_.tick();
    return real_->receive();
  }
  void retain(Packet* packet) override { real_->retain(packet); }
  void release(Packet* packet) override { real_->release(packet); }
  void forget(Packet* packet) override { real_->forget(packet); }
  bool can_acquire() const override { return real_->can_acquire(); }
  bool can_receive() const override { return real_->can_receive(); }
  void close() noexcept override { real_->close(); }

 private:
  std::unique_ptr<Channel> real_;
  Countdown& countdown_;
};

}  // namespace

std::unique_ptr<Backend> failing_backend(std::unique_ptr<Backend> real, Countdown& countdown) {
  return std::make_unique<FailingBackend>(std::move(real), countdown);
}
std::unique_ptr<Channel> failing_channel(std::unique_ptr<Channel> real, Countdown& countdown) {
  return std::make_unique<FailingChannel>(std::move(real), countdown);
}

}  // namespace pipetrain::testing
