// For a spreadsheet: one line per instruction with its times, worker by worker.
#include <spdlog/fmt/fmt.h>
#include "program/format.hpp"
#include "program/text.hpp"

namespace pipetrain {

std::string format_csv(const ScheduleView& view) {
  std::string text = "worker,start,end,instruction,op,stage,microbatch,minibatch,version\n";
  for (std::size_t w = 0; w < view.program.workers.size(); ++w)
    for (std::size_t at = 0; at < view.program.workers[w].size(); ++at) {
      const auto& i = view.program.workers[w][at];
      const auto& span = view.timeline.spans[w][at];
      const bool versioned = reads_weights(i.op) || i.op == Op::Update;
      text += fmt::format("{},{},{},{},{},{},{},{},{}\n", w, span.start, span.end, to_text(i),
                          letters(i.op), i.stage.value, i.microbatch.value,
                          view.program.minibatch_of(i.microbatch).value,
                          versioned ? std::to_string(i.weights.version.value) : "");
    }
  return text;
}

}  // namespace pipetrain
