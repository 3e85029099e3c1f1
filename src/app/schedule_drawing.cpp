#include "app/schedule_drawing.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "own_order.hpp"
#include "program/times.hpp"

namespace pipetrain {
namespace {

bool names_csv(const std::string& name) { return name.ends_with(".csv"); }

std::string title_of(const ScheduleRequest& request, const Program& program) {
  auto title = fmt::format("{}, {} stages, {} micro-batches", request.schedule, request.stages,
                           request.microbatches);
  if (request.virtual_stages > 1 && program.stages == request.stages * request.virtual_stages)
    title += fmt::format(", {} virtual stages", request.virtual_stages);
  return request.minibatches == 1 ? title
                                  : fmt::format("{}, {} mini-batches", title, request.minibatches);
}

OwnOrder read_order(const std::string& name, const Options& options) {
  try {
    return parse_own_order(read_whole_stream(name), options.stages, options.microbatches);
  } catch (const CannotRead& error) {
    throw UsageError(fmt::format("{}: cannot be read: {}; name a csv file", name, error.why()));
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{} (--stages {} --microbatches {}): {}", name, options.stages,
                                 options.microbatches, error.what()));
  }
}

std::set<StageId> tied_stages(const Schedule& row, const ScheduleRequest& request,
                              const std::vector<int>& tied) {
  const int parts = model_parts(row, request.stages, request.virtual_stages);
  std::set<StageId> stages;
  for (const int stage : tied) {
    if (stage >= parts)
      throw UsageError(fmt::format("--tied {}: {} has stages 0 to {} here; name some of those",
                                   stage, row.name, parts - 1));
    stages.insert({stage});
  }
  return stages;
}

ScheduleRequest request_of(const std::string& name, const Options& options) {
  ScheduleRequest request{.schedule = name,
                          .stages = options.stages,
                          .microbatches = options.microbatches,
                          .warmup = options.warmup,
                          .vertical_sync = options.vertical_sync,
                          .early_sends = true};
  if (names_csv(name)) return request;
  const Schedule& row = require_schedule(name);
  const int usual = row.parts == Parts::VirtualStages ? 2 : 1;
  request.virtual_stages = options.virtual_stages.value_or(usual);
  request.minibatches = options.steps.value_or(shown_minibatches(row, request));
  request.tied = tied_stages(row, request, options.tied);
  return request;
}

// A micro-batch has at most seven instructions on a stage: input, forward, send, receive, the two
// parts of backward, send. Bytes as measured: the program, its check, its simulation and what is
// printed.
void refuse_too_large(const std::vector<ScheduleRequest>& requests, const std::string& format) {
  const double bytes_of_one = format == "trace" ? 1800 : 400;
  constexpr double gib = 1024. * 1024 * 1024, most = 4 * gib;
  double instructions = 0;
  int minibatches = 1;
  for (const ScheduleRequest& r : requests) {
    if (names_csv(r.schedule)) continue;
    const Schedule& row = require_schedule(r.schedule);
    instructions += 7. * model_parts(row, r.stages, r.virtual_stages) * r.microbatches *
                    static_cast<double>(r.minibatches);
    minibatches = std::max(minibatches, r.minibatches);
  }
  if (instructions * bytes_of_one > most)
    throw UsageError(fmt::format(
        "--stages {}, --microbatches {} and {} mini-batches (--steps) make up to {:.2g} "
        "instructions, which would take {:.1f} GiB of memory; 4 GiB is the limit: write smaller "
        "numbers",
        requests[0].stages, requests[0].microbatches, minibatches, instructions,
        instructions * bytes_of_one / gib));
}

Drawing drawing_of(ScheduleRequest request, const Options& options, const Times& times) {
  Drawing drawing;
  if (names_csv(request.schedule)) {
    const OwnOrder own = read_order(request.schedule, options);
    request.minibatches = own.program.minibatches;
    drawing.program = complete(own, request);
    if (!own.whole) drawing.program = finish(std::move(drawing.program), request);
  } else {
    drawing.row = &require_schedule(request.schedule);
    drawing.program = make_program(request);
  }
  drawing.request = std::move(request);
  drawing.title = title_of(drawing.request, drawing.program);
  drawing.costs = costs_of(times, drawing.program, drawing.request.schedule);
  drawing.line = simulate(drawing.program, drawing.costs);
  return drawing;
}

}  // namespace

std::vector<Drawing> drawings_of(const Options& options) {
  const Times times = options.times.empty() ? Times{} : parse_times(options.times);
  std::vector<ScheduleRequest> requests;
  int most = 1;
  for (const std::string& name : options.schedules) {
    requests.push_back(request_of(name, options));
    most = std::max(most, requests.back().minibatches);
  }
  for (ScheduleRequest& request : requests) request.minibatches = most;  // so that they compare
  refuse_too_large(requests, options.format);
  std::vector<Drawing> drawings;
  for (ScheduleRequest& request : requests)
    drawings.push_back(drawing_of(std::move(request), options, times));
  return drawings;
}

}  // namespace pipetrain
