// PIPETRAIN_CHECK(condition, "format {}", arguments...) throws an InternalError: the mistake is
// ours, not the user's. Always on, except in kernels.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <stdexcept>
#include <string>

namespace pipetrain {

struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] inline void fail_check(const char* file, int line, const char* condition,
                                    const std::string& why) {
  throw InternalError(
      fmt::format("{}:{}: a bug in pipetrain: {} does not hold: {}", file, line, condition, why));
}

}  // namespace pipetrain

#define PIPETRAIN_CHECK(condition, ...)                                                  \
  do {                                                                                   \
    if (!(condition))                                                                    \
      ::pipetrain::fail_check(__FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__)); \
  } while (false)
