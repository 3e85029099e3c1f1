// A channel that shows each packet before it is sent, around a real one.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "transport/channel.hpp"

namespace pipetrain::testing {

class OnSend final : public Channel {
 public:
  OnSend(std::unique_ptr<Channel> real, std::function<void(Packet&)> see)
      : real_(std::move(real)), see_(std::move(see)) {}
  Packet* acquire() override { return real_->acquire(); }
  void send(Packet* packet) override {
    see_(*packet);
    real_->send(packet);
  }
  Packet* receive() override { return real_->receive(); }
  void retain(Packet* packet) override { real_->retain(packet); }
  void release(Packet* packet) override { real_->release(packet); }
  void forget(Packet* packet) override { real_->forget(packet); }
  bool can_acquire() const override { return real_->can_acquire(); }
  bool can_receive() const override { return real_->can_receive(); }
  void close() noexcept override { real_->close(); }

 private:
  std::unique_ptr<Channel> real_;
  std::function<void(Packet&)> see_;
};

}  // namespace pipetrain::testing
