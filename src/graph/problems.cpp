#include "graph/problems.hpp"

#include <spdlog/fmt/fmt.h>

#include "base/error.hpp"
#include "base/printable.hpp"

namespace pipetrain::model_file {

void Problems::throw_if_any() const {
  if (!any()) return;
  std::string message;
  for (const auto& [at, what] : found_)
    message += (message.empty() ? "" : "\n") +
               printable(fmt::format("{}:{}:{}: {}", origin_, at.line, at.column, what));
  throw UsageError(message);
}

}  // namespace pipetrain::model_file
