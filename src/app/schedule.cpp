#include "app/schedule.hpp"

#include <unistd.h>

#include <array>
#include <functional>
#include <iostream>
#include <memory>
#include <utility>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <spdlog/spdlog.h>
#include "app/rules_as_options.hpp"
#include "app/schedule_drawing.hpp"
#include "app/schedule_notes.hpp"
#include "base/columns.hpp"
#include "base/error.hpp"
#include "base/ink.hpp"

namespace pipetrain {
namespace {

struct Format {
  std::string_view name;
  std::string (*write)(const ScheduleView&);  // once per view; null: print_svg, print_json
  bool several = false;                       // accepts several schedules
};
constexpr std::array<Format, 6> formats{{
    {"text", format_text, true},
    {"versions", format_versions, true},
    {"csv", format_csv},
    {"svg", nullptr, true},
    {"trace", format_trace},
    {"json", nullptr, true},
}};

const Format& require_format(std::string_view name) {
  for (const auto& format : formats)
    if (format.name == name) return format;
  throw UsageError(fmt::format(
      "--format {}: no such format; write text, versions, csv, svg, trace or json", name));
}

const Format& format_of(const Options& options) {
  const Format& format = require_format(options.format);
  if (options.schedules.size() > 1 && !format.several)
    throw UsageError(fmt::format("--format {} takes one schedule; name one of: {}", format.name,
                                 fmt::join(options.schedules, ", ")));
  if (options.summary && format.name != "text" && format.name != "json")
    throw UsageError(fmt::format("--summary has no --format {}; write text or json", format.name));
  return format;
}

// The numbers below the pictures, one line per schedule.
std::string table_of(const std::vector<Drawing>& drawings) {
  std::vector<std::vector<std::string>> rows = {{"schedule", "stages", "mini-batches", "makespan",
                                                 "bubble", "peak activations",
                                                 "peak weight versions"}};
  for (const Drawing& d : drawings)
    rows.push_back({d.request.schedule, std::to_string(d.shape.stages),
                    std::to_string(d.shape.minibatches), time_text(d.numbers.makespan, 0),
                    fmt::format("{:.4f}", d.numbers.bubble),
                    fmt::format("{}", fmt::join(d.numbers.peak_activations, " ")),
                    fmt::format("{}", fmt::join(d.numbers.peak_weight_versions, " "))});
  return columns(rows);
}

// The instructions of each worker in the drawing.
std::function<std::vector<Instruction>(WorkerId)> lists_of(const Drawing& drawing) {
  if (!drawing.compact)
    return [&](WorkerId w) {
      return drawing.picture->program.workers[static_cast<std::size_t>(w.value)];
    };
  return [lists = std::make_shared<WorkerLists>(*drawing.compact)](WorkerId w) {
    return lists->of(w);
  };
}

void print_json(const Drawing& drawing, bool summary) {
  JsonView view{.schedule = drawing.request.schedule,
                .minibatches = drawing.shape.minibatches,
                .numbers = drawing.numbers};
  if (!summary) {
    view.workers = drawing.numbers.idle.size();
    view.list = lists_of(drawing);
  }
  write_json(view, std::cout);
}

void print_json(const std::vector<Drawing>& drawings, bool summary) {
  if (drawings.size() == 1) {
    print_json(drawings[0], summary);
    std::cout << '\n';
    return;
  }
  const char* before = "[";
  for (const Drawing& drawing : drawings) {
    std::cout << std::exchange(before, ",\n");
    print_json(drawing, summary);
  }
  std::cout << "]\n";
}

void print_svg(const std::vector<Drawing>& drawings) {
  std::vector<ScheduleView> views;
  for (const Drawing& drawing : drawings) views.push_back(drawing.view());
  std::cout << format_svg(views);
}

void print(const std::vector<Drawing>& drawings, const Format& format, bool summary) {
  if (format.name == "svg") return print_svg(drawings);
  if (format.name == "json") return print_json(drawings, summary);
  for (std::size_t i = 0; i < drawings.size() && !summary; ++i)
    std::cout << (i > 0 ? "\n" : "") << format.write(drawings[i].view());
  if (format.name != "text") return;
  if (summary || drawings.size() > 1) std::cout << (summary ? "" : "\n") << table_of(drawings);
}

std::vector<Drawing> draw(const Options& options) {
  try {
    return drawings_of(options);
  } catch (const UsageError& error) {
    throw UsageError(rules_as_options(error.what()));
  }
}

}  // namespace

int schedule(const Options& options) {
  const Format& format = format_of(options);
  std::vector<Drawing> drawings = draw(options);
  for (Drawing& drawing : drawings) drawing.colour = takes_colour(options.color, STDOUT_FILENO);
  for (const std::string& note : notes_on(drawings, options)) spdlog::info(note);
  print(drawings, format, options.summary);
  std::cout << std::flush;
  return 0;
}

}  // namespace pipetrain
