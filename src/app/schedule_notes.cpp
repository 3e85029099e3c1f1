#include "app/schedule_notes.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

namespace pipetrain {
namespace {

using Notes = std::vector<std::string>;

void note_unused(Notes& notes, const Drawing& drawing, const Options& options) {
  const Options defaults;
  const Schedule* row = drawing.row;
  const auto note = [&](std::string_view option, bool given, bool taken) {
    if (given && !taken)
      notes.push_back(
          fmt::format("{} has no effect on {}", option, row ? row->name : "an order from a file"));
  };
  note("--steps", options.steps.has_value(), row);
  note("--warmup", options.warmup != defaults.warmup, row && takes_warmup(*row));
  note("--busy", options.busy, row && takes_busy(*row));
  note("--vertical-sync", options.vertical_sync, row && row->vertical);
  note("--virtual-stages", options.virtual_stages.has_value(),
       row && row->parts == Parts::VirtualStages);
  note("--tied", !options.tied.empty(), row);
  note("--replicas", !options.replicas.empty(), row);
}

// A setting that removes what distinguishes the schedule.
std::string degenerate(const Drawing& drawing) {
  const ScheduleRequest& r = drawing.request;
  const Schedule& row = *drawing.row;
  const bool pipeline = row.parts != Parts::Whole;
  if (r.stages == 1)
    return fmt::format(
        "{} with one stage: nothing waits and nothing is sent; write --stages 2 or "
        "more",
        row.name);
  if (row.parts == Parts::VirtualStages && r.virtual_stages == 1)
    return fmt::format(
        "{} with one virtual stage per worker is 1f1b with --warmup double; leave out "
        "--virtual-stages, or write 2 or more",
        row.name);
  if (!flushes(row) && r.minibatches == 1) {
    const bool alike = !drawing.shape.gradients_together;
    ScheduleRequest usual = r;
    return fmt::format(
        "one mini-batch never fills the pipeline of {}{}; leave out --steps, or write {}", row.name,
        alike ? ": this is 1f1b's picture" : "", shown_minibatches(row, usual));
  }
  if (flushes(row) && pipeline && r.microbatches == 1)
    return fmt::format(
        "{} with one micro-batch: hardly more than one stage at a time has work; write "
        "--microbatches 2 or more",
        row.name);
  if (drawing.shape.gradients_together && r.microbatches == 1)
    return fmt::format(
        "{} with one micro-batch runs in pipedream's order; write --microbatches 2 or more",
        row.name);
  return "";
}

std::string listed(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

// Empty if a value is the same for all; otherwise "gpipe 4, zb_v 8".
template <class Value>
std::string differing(const std::vector<Drawing>& drawings, Value value) {
  std::vector<std::string> parts;
  bool same = true;
  for (const Drawing& d : drawings) {
    parts.push_back(fmt::format("{} {}", d.request.schedule, value(d)));
    same = same && value(d) == value(drawings[0]);
  }
  return same ? "" : listed(parts);
}

void note_common_steps(Notes& notes, const std::vector<Drawing>& drawings, const Options& options) {
  if (options.steps) return;
  for (const Drawing& d : drawings)
    if (d.row && shown_minibatches(*d.row, d.request) != d.request.minibatches)
      return notes.push_back(
          fmt::format("--steps is not given: all take {} mini-batches, the largest default",
                      d.request.minibatches));
}

// What prevents makespans from being compared.
void note_unlike(Notes& notes, const std::vector<Drawing>& drawings, const Options& options) {
  const auto stages = differing(drawings, [](const Drawing& d) { return d.shape.stages; });
  if (!stages.empty())
    notes.push_back(
        fmt::format("times and activations are per model stage, and the numbers of model stages "
                    "differ: {}; compare bubbles, not makespans or peak activations",
                    stages));
  const auto steps = differing(drawings, [](const Drawing& d) { return d.shape.minibatches; });
  if (!steps.empty())
    notes.push_back(
        fmt::format("an order from a file keeps its own number of mini-batches: {}", steps));
  const bool named = options.times.find("B=") != options.times.npos ||
                     options.times.find("W=") != options.times.npos;
  const auto together = [](const Drawing& d) { return d.shape.gradients_together; };
  if (!named || std::ranges::none_of(drawings, together) || std::ranges::all_of(drawings, together))
    return;
  const auto first = std::ranges::find_if(drawings, together);
  notes.push_back(
      fmt::format("--times: B and W are those of a whole mini-batch under {}, and of a micro-batch "
                  "under the others; what is not named is the same for all",
                  first->request.schedule));
}

}  // namespace

Notes notes_on(const std::vector<Drawing>& drawings, const Options& options) {
  Notes notes;
  for (const Drawing& drawing : drawings) {
    note_unused(notes, drawing, options);
    if (const auto note = drawing.row ? degenerate(drawing) : ""; !note.empty())
      notes.push_back(note);
    notes.insert(notes.end(), drawing.timeless.begin(), drawing.timeless.end());
  }
  note_common_steps(notes, drawings, options);
  note_unlike(notes, drawings, options);
  return notes;
}

}  // namespace pipetrain
