#include "transport/shared_packets.hpp"

#include <new>
#include <utility>

#include "base/cache_line.hpp"
#include "base/check.hpp"

namespace pipetrain {
namespace {

std::size_t queue_bytes(const SharedPacketSizes& sizes) {
  return whole_lines(sizes.count * sizeof(std::uint32_t));
}

}  // namespace

std::size_t SharedPackets::bytes(const SharedPacketSizes& sizes) {
  return sizeof(Control) + 2 * queue_bytes(sizes) +
         sizes.count * (whole_lines(sizes.head) + whole_lines(sizes.data));
}

SharedPackets::SharedPackets(SharedBlock block, const SharedPacketSizes& sizes, bool fresh)
    : block_(std::move(block)), sizes_(sizes) {
  std::byte* const memory = block_.data();
  control_ = fresh ? new (memory) Control : std::launder(reinterpret_cast<Control*>(memory));
  auto* const queues = memory + sizeof(Control);
  sent_ = {&control_->sent, reinterpret_cast<std::uint32_t*>(queues), sizes.count};
  free_ = {&control_->free, reinterpret_cast<std::uint32_t*>(queues + queue_bytes(sizes)),
           sizes.count};
  if (!fresh) return;
  for (std::uint32_t packet = 0; packet < sizes.count; ++packet) free_.push(packet);
}

void SharedPackets::send(std::uint32_t packet) {
  sent_.push(packet);
  control_->receiver.ring();
}

void SharedPackets::give_back(std::uint32_t packet) {
  free_.push(packet);
  control_->sender.ring();
}

std::byte* SharedPackets::data(std::uint32_t packet) const {
  return at(packet) + whole_lines(sizes_.head);
}

std::byte* SharedPackets::at(std::uint32_t packet) const {
  return block_.data() + sizeof(Control) + 2 * queue_bytes(sizes_) +
         packet * (whole_lines(sizes_.head) + whole_lines(sizes_.data));
}

void SharedPackets::Queue::push(std::uint32_t packet) {
  PIPETRAIN_CHECK(ends->pushed - ends->popped < count, "a packet is released more often than held");
  packets[ends->pushed % count] = packet;
  ++ends->pushed;
}

std::optional<std::uint32_t> SharedPackets::Queue::pop() {
  if (!any()) return std::nullopt;
  const std::uint32_t packet = packets[ends->popped % count];
  ++ends->popped;
  PIPETRAIN_CHECK(packet < count, "a shared packet that does not exist");
  return packet;
}

}  // namespace pipetrain
