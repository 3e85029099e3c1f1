#include "graph/problems.hpp"

#include <spdlog/fmt/fmt.h>

#include "base/error.hpp"

namespace pipetrain::model_file {

void Problems::throw_if_any() const {
  if (!any()) return;
  std::string message;
  for (const auto& [at, what] : found_)
    message += fmt::format("{}{}:{}:{}: {}", message.empty() ? "" : "\n", origin_, at.line,
                           at.column, what);
  throw UsageError(message);
}

}  // namespace pipetrain::model_file
