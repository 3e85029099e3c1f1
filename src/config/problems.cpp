#include "config/problems.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/error.hpp"

namespace pipetrain::config {

std::string Place::text() const {
  return line > 0 ? fmt::format("{}:{}:{}", name, line, column) : name;
}

void raise(Problems problems) {
  if (problems.empty()) return;
  std::sort(problems.begin(), problems.end());
  std::string message;
  for (const Problem& problem : problems) {
    if (!message.empty()) message += '\n';
    message += fmt::format("{}: {}; {}", problem.place.text(), problem.what, problem.instead);
  }
  throw UsageError(message);
}

}  // namespace pipetrain::config
