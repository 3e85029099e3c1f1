// Starting threads, and the error if the machine allows no more.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace pipetrain {

// Throws a DeviceError: no thread could be started, why, the limits of this process, and which keys
// ask for fewer.
[[noreturn]] void refuse_thread(const std::system_error& error);

template <class Work>
std::thread start_thread(Work work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& error) {
    refuse_thread(error);
  }
}

// Throws a DeviceError unless `count` more can be started at once. OpenMP does not ask: it ends the
// process if one of its threads cannot be started. So code that is about to need a team asks here.
void check_threads(int count);

}  // namespace pipetrain
