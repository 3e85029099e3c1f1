#include "transport/device_channel.hpp"

#include <utility>

#include "base/check.hpp"

namespace pipetrain {
namespace {

class DeviceChannel final : public Channel {
 public:
  DeviceChannel(std::unique_ptr<Channel> beneath, DeviceChannelOptions options)
      : beneath_(std::move(beneath)), options_(std::move(options)), ends_(options_.packets) {
    PIPETRAIN_CHECK(!options_.transfer || options_.twins.size() == options_.packets,
                    "a twin of each packet is needed");
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      Ends& ends = ends_[i];
      ends.sent = options_.sender->make_fence();
      ends.read = options_.receiver->make_fence();
      if (!options_.transfer) continue;
      ends.arrived = options_.transfer->make_fence();
      ends.twin.index = static_cast<int>(i);
      ends.twin.data = options_.twins[i];
      ends.twin.ids.reserve(options_.samples);
    }
  }
  ~DeviceChannel() override {
    try {
      if (options_.transfer) options_.transfer->finish();
    } catch (...) {  // the failure has been reported, or another call will
    }
  }

  Packet* acquire() override {
    Packet* const packet = beneath_->acquire();
    const Ends& ends = of(packet);
    options_.sender->wait(ends.arrived ? *ends.arrived : *ends.read);
    return packet;
  }

  void send(Packet* packet) override {
    Ends& ends = of(packet);
    options_.sender->record(*ends.sent);
    if (ends.arrived) {
      options_.transfer->wait(*ends.sent);
      options_.transfer->wait(*ends.read);  // of what the twin held before
      options_.transfer->copy(ends.twin.data, packet->data, options_.bytes);
      options_.transfer->record(*ends.arrived);
    }
    beneath_->send(packet);
  }

  Packet* receive() override {
    Packet* const packet = beneath_->receive();
    Ends& ends = of(packet);
    options_.receiver->wait(ends.arrived ? *ends.arrived : *ends.sent);
    if (!ends.arrived) return packet;
    ends.original = packet;
    ends.twin.bytes = packet->bytes;
    ends.twin.samples = packet->samples;
    ends.twin.lengths = packet->lengths;
    ends.twin.microbatch = packet->microbatch;
    ends.twin.ids.assign(packet->ids.begin(), packet->ids.end());
    return &ends.twin;
  }

  void release(Packet* packet) override {
    Ends& ends = of(packet);
    options_.receiver->record(*ends.read);
    beneath_->release(ends.arrived ? ends.original : packet);
  }

  void retain(Packet* packet) override { beneath_->retain(packet); }
  // Needs no fence: the sender's stream writes the packet only after everything that it has read.
  void forget(Packet* packet) override { beneath_->forget(packet); }
  bool can_acquire() const override { return beneath_->can_acquire(); }
  bool can_receive() const override { return beneath_->can_receive(); }
  void close() noexcept override { beneath_->close(); }

 private:
  struct Ends {
    std::unique_ptr<Fence> sent, read;
    std::unique_ptr<Fence> arrived;  // only between two devices
    Packet twin;                     // only between two devices
    Packet* original = nullptr;      // of the twin, while the receiver holds it
  };
  Ends& of(const Packet* packet) { return ends_[packet->index]; }

  std::unique_ptr<Channel> beneath_;
  DeviceChannelOptions options_;
  std::vector<Ends> ends_;
};

}  // namespace

std::unique_ptr<Channel> make_device_channel(std::unique_ptr<Channel> beneath,
                                             DeviceChannelOptions options) {
  return std::make_unique<DeviceChannel>(std::move(beneath), std::move(options));
}

}  // namespace pipetrain
