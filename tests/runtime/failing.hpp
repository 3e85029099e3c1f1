// A backend and a channel whose n-th operation throws, around real ones.
#pragma once

#include <atomic>
#include <memory>

#include "backend/backend.hpp"
#include "transport/channel.hpp"

namespace pipetrain::testing {

// Counts operations down; the one that reaches 0 throws a DeviceError.
class Countdown {
 public:
  void set(int n) {
    left_ = n;
    fired_ = false;
  }
  void tick();
  bool fired() const { return fired_; }

 private:
  std::atomic<int> left_ = 0;
  std::atomic<bool> fired_ = false;
};

std::unique_ptr<Backend> failing_backend(std::unique_ptr<Backend> real, Countdown& countdown);
std::unique_ptr<Channel> failing_channel(std::unique_ptr<Channel> real, Countdown& countdown);

}  // namespace pipetrain::testing
