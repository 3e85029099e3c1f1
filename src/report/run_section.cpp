#include "report/run_section.hpp"

#include <spdlog/fmt/fmt.h>

#include <cmath>

#include "base/bytes_text.hpp"
#include "base/counted.hpp"
#include "base/xml_text.hpp"
#include "report/curves.hpp"
#include "report/measure.hpp"
#include "report/numbers.hpp"
#include "report/stage_tables.hpp"
#include "report/timeline.hpp"
#include "report/trace_slices.hpp"

namespace pipetrain {
namespace {

std::string tile(const std::string& figure, const std::string& what) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>", xml_text(figure),
                     xml_text(what));
}

std::string step_tile(const RunRecord& run) {
  std::string what = "a step (median)";
  if (run.predicted_step_ms) what += fmt::format("; {:.3g} ms predicted", *run.predicted_step_ms);
  return tile(fmt::format("{:.3g} ms", run.step_ms), what);
}

std::string margin_tile(const RunRecord& run) {
  const StabilityPoint* least = nullptr;
  for (const StabilityPoint& point : run.stability)
    if (std::isfinite(point.margin) && (!least || point.margin < least->margin)) least = &point;
  return least ? tile(fmt::format("{:.3g}", least->margin),
                      fmt::format("smallest margin: the largest stable learning rate over the one "
                                  "used, after step {}",
                                  count_text(least->step)))
               : "";
}

std::string tiles(const RunRecord& run) {
  std::string text = "<div class=\"tiles\">";
  if (const auto measure = common_measure({&run, 1}))
    if (const ValidationPoint* const best = best_of(run, *measure))
      text += tile(value_text(*measure, *value_of(*best, *measure)),
                   fmt::format("best {}, after step {}", measure_words(*measure).name,
                               count_text(best->step)));
  if (!run.steps.empty()) {
    const StepPoint& last = run.steps.back();
    if (std::isfinite(last.loss))
      text += tile(fmt::format("{:.4g}", last.loss), "training loss of the last step");
    text += tile(seconds_text(last.seconds),
                 fmt::format("training {} {}", count_text(std::ssize(run.steps)),
                             run.steps.size() == 1 ? "step" : "steps"));
    text += step_tile(run);
    text += tile(share_text(run.bubble), "bubble: time in which workers compute nothing");
    text += tile(bytes_text(memory_of(run)), "memory of all stages in training");
    if (const std::size_t s = most_staleness(run);
        !run.stages.empty() && run.stages[s].staleness > 0)
      text += tile(fmt::format("{:.3g}", run.stages[s].staleness),
                   fmt::format("updates between forward and backward, mean on stage {}", s));
  }
  text += margin_tile(run);
  return text + "</div>\n";
}

std::string steps_section(const RunRecord& run) {
  const TraceSlices trace = read_trace(run.folder / "trace.json");
  std::string text = "<h2>What the stages did</h2>\n";
  if (const std::string bottleneck = bottleneck_text(run); !bottleneck.empty())
    text += fmt::format("<p>{}</p>\n", xml_text(bottleneck));
  if (!trace.slices.empty())
    text += fmt::format(
                "<p class=\"faint\">{}, as recorded in trace.json. Of each stage's two rows "
                "the upper one is what it computed, in the colour of the weights' version "
                "(updates since the pipeline was last empty); the lower one is what it sent "
                "and received, and when it waited.</p>\n",
                trace.first_step == trace.last_step
                    ? fmt::format("Step {}", trace.first_step)
                    : fmt::format("Steps {} to {}", trace.first_step, trace.last_step)) +
            timeline(trace);
  else
    text += fmt::format("<p class=\"faint\">{}</p>\n", xml_text(trace.problem));
  return text + stages_table(run);
}

std::string details(const std::string& what, const std::string& text) {
  if (text.empty()) return "";
  return fmt::format("<details><summary>{}</summary><pre>{}</pre></details>\n", what,
                     xml_text(text));
}

std::string environment_text(const RunRecord& run) {
  std::string text;
  for (const auto& [name, value] : run.environment) text += fmt::format("{:14} {}\n", name, value);
  return text;
}

std::string moves_section(const RunRecord& run) {
  if (run.moves.empty()) return "";
  std::string text = "<h2>Moves of the cut</h2>\n";
  for (const std::string& move : run.moves) text += fmt::format("<p>{}</p>\n", xml_text(move));
  return text;
}

}  // namespace

std::string summary_text(const RunRecord& run) {
  std::string text = fmt::format("{}, {} parameters; {}, {}, {} per mini-batch", run.model,
                                 count_text(run.parameters), run.schedule,
                                 counted(std::ssize(run.stages), "stage"),
                                 counted(run.microbatches, "micro-batch"));
  const std::string steps =
      fmt::format("{} of {} steps", count_text(std::ssize(run.steps)), count_text(run.total_steps));
  if (run.ended.empty()) return text + "; " + steps + ", unfinished when this page was made";
  return text + "; " + (run.ended == "finished" ? run.ended : steps + ", " + run.ended);
}

std::string run_section(const RunRecord& run) {
  std::string text;
  for (const std::string& warning : run.warnings)
    text += fmt::format("<p class=\"warning\">{}</p>\n", xml_text(warning));
  text += tiles(run) + curves({&run, 1}) + steps_section(run);
  if (const std::string memory = memory_table(run); !memory.empty())
    text += "<h2>Where memory goes</h2>\n" + memory;
  return text + moves_section(run) + "<h2>How it was run</h2>\n" +
         details("Config, every key that is not a default", run.config) +
         details("Environment", environment_text(run));
}

}  // namespace pipetrain
