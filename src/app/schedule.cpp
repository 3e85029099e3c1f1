#include "app/schedule.hpp"

#include <array>
#include <iostream>

#include <spdlog/fmt/fmt.h>
#include "base/error.hpp"
#include "program/format.hpp"
#include "schedules.hpp"

namespace pipetrain {
namespace {

struct Format {
  std::string_view name;
  std::string (*write)(const ScheduleView&);
};
constexpr std::array<Format, 6> formats{{
    {"text", format_text},
    {"versions", format_versions},
    {"csv", format_csv},
    {"svg", format_svg},
    {"trace", format_trace},
    {"json", format_json},
}};

const Format& require_format(std::string_view name) {
  for (const auto& format : formats)
    if (format.name == name) return format;
  throw UsageError(
      fmt::format("--format {}: there are text, versions, csv, svg, trace and json", name));
}

std::string title_of(const ScheduleRequest& request) {
  auto title = fmt::format("{}, {} stages, {} micro-batches", request.schedule, request.stages,
                           request.microbatches);
  return request.minibatches == 1 ? title
                                  : fmt::format("{}, {} mini-batches", title, request.minibatches);
}

}  // namespace

int schedule(const Options& options) {
  const auto& format = require_format(options.format);
  const auto costs = options.times.empty() ? Costs{} : parse_times(options.times);
  const ScheduleRequest request{.schedule = options.name,
                                .stages = options.stages,
                                .microbatches = options.microbatches,
                                .minibatches = options.steps};
  const auto program = make_program(request);
  const auto timeline = simulate(program, costs);
  std::cout << format.write({title_of(request), program, timeline}) << std::flush;
  return 0;
}

}  // namespace pipetrain
