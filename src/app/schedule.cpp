#include "app/schedule.hpp"

#include <array>
#include <fstream>
#include <iostream>
#include <optional>

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include "base/error.hpp"
#include "own_order.hpp"
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

std::string title_of(const ScheduleRequest& request, const Program& program) {
  auto title = fmt::format("{}, {} stages, {} micro-batches", request.schedule, request.stages,
                           request.microbatches);
  if (request.virtual_stages > 1 && program.stages == request.stages * request.virtual_stages)
    title += fmt::format(", {} virtual stages", request.virtual_stages);
  return request.minibatches == 1 ? title
                                  : fmt::format("{}, {} mini-batches", title, request.minibatches);
}

// A time of B or W is that of all that a figure shows as one backward: of the whole mini-batch
// where backwards go together.
Costs costs_of(const std::string& times, const Program& program) {
  auto costs = times.empty() ? Costs{} : parse_times(times);
  if (program.gradients_together) {
    costs.all.backward_input /= program.microbatches;
    costs.all.backward_weight /= program.microbatches;
  }
  return costs;
}

// NAME may be a file with an order of the user's own.
std::optional<OwnOrder> own_order(const Options& options) {
  if (!options.name.ends_with(".csv")) return std::nullopt;
  std::ifstream file(options.name, std::ios::binary);
  if (!file) throw UsageError(fmt::format("{}: cannot be read; name a csv file", options.name));
  try {
    return parse_own_order(std::string(std::istreambuf_iterator<char>(file), {}), options.stages,
                           options.microbatches);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{} (--stages {} --microbatches {}): {}", options.name,
                                 options.stages, options.microbatches, error.what()));
  }
}

// An option that the schedule does not have is allowed, and told of.
void note_unused(const Options& options) {
  const Schedule& row = require_schedule(options.name);
  const auto note = [&](std::string_view option) {
    spdlog::info("{} has no effect on {}", option, row.name);
  };
  if (options.warmup != "1f1b" && !takes_warmup(row)) note("--warmup");
  if (options.vertical_sync && !row.vertical) note("--vertical-sync");
  if (options.virtual_stages != 1 && row.parts != Parts::VirtualStages) note("--virtual-stages");
}

std::set<StageId> tied_stages(const Options& options) {
  const int parts =
      model_parts(require_schedule(options.name), options.stages, options.virtual_stages);
  std::set<StageId> stages;
  for (const int stage : options.tied) {
    if (stage >= parts)
      throw UsageError(fmt::format("--tied {}: {} has stages 0 to {} here; name some of those",
                                   stage, options.name, parts - 1));
    stages.insert({stage});
  }
  return stages;
}

void note_unused_by_file(const Options& options) {
  const Options defaults;
  const auto note = [&](std::string_view option, bool given) {
    if (given) spdlog::info("{} has no effect on an order from a file", option);
  };
  note("--steps", options.steps != defaults.steps);
  note("--warmup", options.warmup != defaults.warmup);
  note("--vertical-sync", options.vertical_sync);
  note("--virtual-stages", options.virtual_stages != defaults.virtual_stages);
  note("--tied", !options.tied.empty());
}

}  // namespace

int schedule(const Options& options) {
  const auto& format = require_format(options.format);
  const auto own = own_order(options);
  if (own)
    note_unused_by_file(options);
  else
    note_unused(options);
  ScheduleRequest request{.schedule = options.name,
                          .stages = options.stages,
                          .microbatches = options.microbatches,
                          .minibatches = own ? own->program.minibatches : options.steps,
                          .warmup = options.warmup,
                          .vertical_sync = options.vertical_sync,
                          .virtual_stages = options.virtual_stages};
  if (!own) request.tied = tied_stages(options);
  const auto program = own ? complete(*own, request) : make_program(request);
  const auto costs = costs_of(options.times, program);
  const auto timeline = simulate(program, costs);
  std::cout << format.write({title_of(request, program), program, timeline}) << std::flush;
  return 0;
}

}  // namespace pipetrain
