#include "profile/machine_figures.hpp"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/median.hpp"
#include "transport/channel.hpp"

namespace pipetrain {
namespace {

constexpr int rounds = 2000;
constexpr std::size_t least_bytes = std::size_t{1} << 20, most_bytes = std::size_t{128} << 20;
constexpr int repetitions = 5;  // of `most_bytes` each

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

std::vector<MemoryRate> measure_memory_rates() {
  const std::vector<std::byte> from(most_bytes / 2, std::byte{1});
  std::vector<std::byte> to(most_bytes / 2);
  std::vector<MemoryRate> rates;
  for (std::size_t bytes = least_bytes; bytes <= most_bytes; bytes *= 4) {
    double best = 0;
    std::memcpy(to.data(), from.data(), bytes / 2);
    for (int i = 0; i < repetitions; ++i) {
      const std::int64_t begin = now_ns();
      for (std::size_t copied = 0; copied < most_bytes; copied += bytes)
        std::memcpy(to.data(), from.data(), bytes / 2);
      best = std::max(
          best, 1e9 * static_cast<double>(most_bytes) / static_cast<double>(now_ns() - begin));
    }
    rates.push_back({.bytes = static_cast<std::int64_t>(bytes), .bytes_per_second = best});
  }
  return rates;
}

}  // namespace pipetrain
