#include "base/start_thread.hpp"

#include <spdlog/fmt/fmt.h>

#include <latch>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/process_limits.hpp"

namespace pipetrain {

void refuse_thread(const std::system_error& error) {
  throw DeviceError(
      fmt::format("no more threads can be started: {}{}; ask for fewer (pipeline.stages, "
                  "hardware.threads_per_stage, data.decode_threads), train with hardware.workers = "
                  "\"inline\", or raise the limit",
                  error.code().message(), limits_text()));
}

void check_threads(int count) {
  std::latch end(1);
  std::vector<std::thread> threads;
  threads.reserve(count);
  const struct Ended {
    std::latch& end;
    std::vector<std::thread>& threads;
    ~Ended() {
      end.count_down();
      for (std::thread& thread : threads) thread.join();
    }
  } ended{end, threads};
  for (int i = 0; i < count; ++i) threads.push_back(start_thread([&end] { end.wait(); }));
}

}  // namespace pipetrain
