#include "config/problems.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "base/error.hpp"
#include "base/printable.hpp"

namespace pipetrain::config {

std::string Place::text() const {
  return line > 0 ? fmt::format("{}:{}:{}", name, line, column) : name;
}

bool Place::operator<(const Place& other) const {
  return std::tie(source, line, column, name) <
         std::tie(other.source, other.line, other.column, other.name);
}

void raise(Problems problems) {
  if (problems.empty()) return;
  std::ranges::stable_sort(problems, std::less<>(), &Problem::place);
  std::string message;
  for (const Problem& problem : problems) {
    if (!message.empty()) message += '\n';
    // Keys and names come from files.
    message += printable(fmt::format("{}: {}", problem.place.text(), problem.what));
    if (!problem.instead.empty()) message += "; " + printable(problem.instead);
  }
  throw UsageError(message);
}

}  // namespace pipetrain::config
