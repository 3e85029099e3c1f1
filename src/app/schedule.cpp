#include "app/schedule.hpp"

#include <array>
#include <iostream>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <spdlog/spdlog.h>
#include "app/schedule_drawing.hpp"
#include "app/schedule_notes.hpp"
#include "base/columns.hpp"
#include "base/error.hpp"

namespace pipetrain {
namespace {

struct Format {
  std::string_view name;
  std::string (*write)(const ScheduleView&);
  bool several = false;  // of several schedules
};
constexpr std::array<Format, 6> formats{{
    {"text", format_text, true},
    {"versions", format_versions, true},
    {"csv", format_csv},
    {"svg", format_svg},
    {"trace", format_trace},
    {"json", format_json, true},
}};

const Format& require_format(std::string_view name) {
  for (const auto& format : formats)
    if (format.name == name) return format;
  throw UsageError(
      fmt::format("--format {}: there are text, versions, csv, svg, trace and json", name));
}

const Format& format_of(const Options& options) {
  const Format& format = require_format(options.format);
  if (options.schedules.size() > 1 && !format.several)
    throw UsageError(fmt::format("--format {} is of one schedule; name one of: {}", format.name,
                                 fmt::join(options.schedules, ", ")));
  if (options.summary && format.name != "text" && format.name != "json")
    throw UsageError(fmt::format("--summary has no --format {}; write text or json", format.name));
  return format;
}

// The numbers below the pictures, a line for each schedule.
std::string table_of(const std::vector<Drawing>& drawings) {
  std::vector<std::vector<std::string>> rows = {{"schedule", "stages", "mini-batches", "makespan",
                                                 "bubble", "peak activations",
                                                 "peak weight versions"}};
  for (const Drawing& d : drawings)
    rows.push_back({d.request.schedule, std::to_string(d.program.stages),
                    std::to_string(d.program.minibatches), fmt::format("{:g}", d.line.makespan),
                    fmt::format("{:.4f}", d.line.bubble),
                    fmt::format("{}", fmt::join(d.line.peak_activations, " ")),
                    fmt::format("{}", fmt::join(d.line.peak_weight_versions, " "))});
  return columns(rows);
}

void print_json(const std::vector<Drawing>& drawings, bool summary) {
  const auto write = summary ? format_json_summary : format_json;
  if (drawings.size() == 1) {
    std::cout << write(drawings[0].view());
    return;
  }
  const char* before = "[";
  for (const Drawing& drawing : drawings) {
    auto document = write(drawing.view());
    document.pop_back();  // the end of its line
    std::cout << before << document;
    before = ",\n";
  }
  std::cout << "]\n";
}

void print(const std::vector<Drawing>& drawings, const Format& format, bool summary) {
  if (format.name == "json") return print_json(drawings, summary);
  for (std::size_t i = 0; i < drawings.size() && !summary; ++i)
    std::cout << (i > 0 ? "\n" : "") << format.write(drawings[i].view());
  if (format.name != "text") return;
  if (summary || drawings.size() > 1) std::cout << (summary ? "" : "\n") << table_of(drawings);
}

}  // namespace

int schedule(const Options& options) {
  const Format& format = format_of(options);
  const std::vector<Drawing> drawings = drawings_of(options);
  for (const std::string& note : notes_on(drawings, options)) spdlog::info(note);
  print(drawings, format, options.summary);
  std::cout << std::flush;
  return 0;
}

}  // namespace pipetrain
