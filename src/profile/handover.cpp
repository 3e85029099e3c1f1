#include "profile/handover.hpp"

#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/median.hpp"
#include "transport/channel.hpp"

namespace pipetrain {
namespace {

constexpr int rounds = 2000;

// Sends back whatever arrives.
void answer(Channel& from, Channel& to, int count) {
  for (int i = 0; i < count; ++i) {
    from.release(from.receive());
    to.send(to.acquire());
  }
}

}  // namespace

TransportTimes measure_handover() {
  std::byte memory[2] = {};
  const auto there = make_in_process_channel({.packets = {&memory[0]}, .spin = true});
  const auto back = make_in_process_channel({.packets = {&memory[1]}, .spin = true});
  std::vector<double> round_ms;
  std::thread other([&] { answer(*there, *back, rounds); });
  for (int i = 0; i < rounds; ++i) {
    const std::int64_t begin = now_ns();
    there->send(there->acquire());
    back->release(back->receive());
    round_ms.push_back(static_cast<double>(now_ns() - begin) * 1e-6);
  }
  other.join();
  return {.name = "threads", .handover_ms = median(round_ms) / 2};
}

}  // namespace pipetrain
