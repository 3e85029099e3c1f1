// What a check found, with the places marked in the lists of the workers.
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "program/check.hpp"
#include "program/text.hpp"

namespace pipetrain {

std::string show(const Program& program, const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (std::size_t w = 0; w < program.workers.size(); ++w) {
    text += fmt::format("worker {} ", w);
    const auto& list = program.workers[w];
    for (std::size_t at = 0; at <= list.size(); ++at) {
      const bool marked = std::any_of(diagnostics.begin(), diagnostics.end(), [&](const auto& d) {
        return d.worker.value == static_cast<int>(w) && d.index == at;
      });
      const auto cell = at < list.size() ? to_text(list[at]) : "end";
      if (marked)
        text += fmt::format(" >{}<", cell);
      else if (at < list.size())
        text += fmt::format(" {}", cell);
    }
    text += '\n';
  }
  for (const auto& d : diagnostics) text += fmt::format("{}: {}\n", d.rule, d.message);
  return text;
}

}  // namespace pipetrain
