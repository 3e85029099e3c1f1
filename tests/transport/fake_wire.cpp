#include "fake_wire.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.hpp"

namespace pipetrain::testing {

class FakeWire final : public RankWire {
 public:
  FakeWire(FakeNetwork& network, int rank) : network_(network), rank_(rank) {}
  ~FakeWire() override {
    const std::lock_guard lock(network_.mutex_);
    for (const auto& [number, kept] : requests_) {
      std::erase(kept.queue->expected, kept.message);
      std::erase(kept.queue->sent, kept.message);
    }
    network_.leave(rank_);
  }

  int rank() const override { return rank_; }
  int size() const override { return network_.ranks_; }

  Request send(int to, int tag, const std::byte* data, std::size_t bytes) override {
    auto message = std::make_shared<FakeNetwork::Message>();
    message->from = data;
    message->bytes = bytes;
    return keep(rank_, to, tag, message, true);
  }
  Request receive(int from, int tag, std::byte* data, std::size_t bytes) override {
    auto message = std::make_shared<FakeNetwork::Message>();
    message->to = data;
    message->bytes = bytes;
    return keep(from, rank_, tag, message, false);
  }
  std::optional<std::size_t> done(Request request) override {
    const std::lock_guard lock(network_.mutex_);
    const auto& message = requests_.at(request).message;
    if (!message->done) return std::nullopt;
    const std::size_t bytes = message->bytes;
    requests_.erase(request);
    return bytes;
  }
  void withdraw(Request request) noexcept override {
    const std::lock_guard lock(network_.mutex_);
    std::erase(requests_.at(request).queue->expected, requests_.at(request).message);
    requests_.erase(request);
  }
  void finish() override {
    if (network_.endless_[rank_]) std::this_thread::sleep_for(std::chrono::hours(1));
  }

 private:
  struct Kept {
    FakeNetwork::Queue* queue = nullptr;
    std::shared_ptr<FakeNetwork::Message> message;
  };
  Request keep(int from, int to, int tag, std::shared_ptr<FakeNetwork::Message> message,
               bool sends) {
    const std::lock_guard lock(network_.mutex_);
    FakeNetwork::Queue& queue = network_.queues_[{from, to, tag}];
    requests_[next_] = {&queue, message};
    if (sends && network_.gone_[to]) {
      message->done = true;
      return next_++;
    }
    (sends ? queue.sent : queue.expected).push_back(message);
    if (!network_.cut_[from] && !network_.cut_[to]) network_.meet(queue);
    return next_++;
  }

  FakeNetwork& network_;
  const int rank_;
  Request next_ = 0;
  std::map<Request, Kept> requests_;
};

void FakeNetwork::meet(Queue& queue) {
  while (!queue.sent.empty() && !queue.expected.empty()) {
    Message &from = *queue.sent.front(), &to = *queue.expected.front();
    if (from.bytes > to.bytes) throw DeviceError("a message is larger than its receive");
    if (from.bytes > 0) std::memcpy(to.to, from.from, from.bytes);
    to.bytes = from.bytes;
    from.done = to.done = true;
    queue.sent.pop_front();
    queue.expected.pop_front();
  }
}

void FakeNetwork::leave(int rank) {
  gone_[rank] = true;
  for (auto& [name, queue] : queues_) {
    if (std::get<1>(name) != rank) continue;
    for (const auto& message : queue.sent) message->done = true;
    queue.sent.clear();
  }
}

MakeRankWire FakeNetwork::wire(int rank) {
  return [this, rank] { return std::make_unique<FakeWire>(*this, rank); };
}

}  // namespace pipetrain::testing
