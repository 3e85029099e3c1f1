// A wrapper of a real backend that counts allocations and releases, and reports every update.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "backend/backend.hpp"

namespace pipetrain::testing {

struct BackendCounts {
  std::atomic<std::int64_t> allocations = 0, releases = 0;
  std::function<void()> after_update = [] {};  // on the thread that called apply()
};

std::unique_ptr<Backend> counting_backend(std::unique_ptr<Backend> real, BackendCounts& counts);

}  // namespace pipetrain::testing
