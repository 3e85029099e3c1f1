#include "app/schedule_drawing.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "app/schedule_size.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/input_file.hpp"
#include "own_order.hpp"
#include "program/simulate.hpp"
#include "program/times.hpp"
#include "schedules.hpp"

namespace pipetrain {
namespace {

std::string title_of(const ScheduleRequest& request, const ProgramShape& shape) {
  auto title = fmt::format("{}, {}, {}", request.schedule, counted(request.stages, "stage"),
                           counted(request.microbatches, "micro-batch"));
  if (request.virtual_stages > 1 && shape.stages == request.stages * request.virtual_stages)
    title += fmt::format(", {} virtual stages", request.virtual_stages);
  if (const std::vector<int> replicas = replicas_of(request); !replicas.empty())
    title += fmt::format(", replicas {}", fmt::join(replicas, "-"));
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

int whole_time(std::string_view what, double time) {
  constexpr double most = 1000000;
  const double whole = std::round(time);
  if (std::abs(time - whole) > 1e-9 * time || whole < 1 || whole > most)
    throw UsageError(fmt::format(
        "--busy makes its order from whole numbers, but --times has {} = {:g}; write whole numbers "
        "from 1 to 1,000,000, with the ratio of F to B that you mean",
        what, time));
  return static_cast<int>(whole);
}

// The order's times are those of --times, in which B is that of a whole mini-batch.
BusyTimes busy_times(const Times& times, const ScheduleRequest& request) {
  const ProgramShape shape{
      .stages = request.stages, .microbatches = request.microbatches, .gradients_together = true};
  const Costs costs = costs_of(times, shape, request.schedule);
  const auto backward = [&](const StageCosts& stage) {
    return (stage.backward_input + stage.backward_weight) * request.microbatches;
  };
  const StageCosts& first = costs.of({0});
  for (StageId s{0}; s.value < request.stages; ++s.value)
    if (costs.of(s).forward != first.forward || backward(costs.of(s)) != backward(first))
      throw UsageError(
          "--busy makes its order from one F and one B for all stages; write one number for each "
          "in --times");
  return {.forward = whole_time("F", first.forward), .backward = whole_time("B", backward(first))};
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

ScheduleRequest request_of(const std::string& name, const Options& options, const Times& times) {
  ScheduleRequest request{.schedule = name,
                          .stages = options.stages,
                          .microbatches = options.microbatches,
                          .warmup = options.warmup,
                          .vertical_sync = options.vertical_sync,
                          .early_sends = true};
  if (names_csv(name)) return request;  // the order itself says which workers share a stage
  const Schedule& row = require_schedule(name);
  const int usual = row.parts == Parts::VirtualStages ? 2 : 1;
  request.virtual_stages = options.virtual_stages.value_or(usual);
  request.replicas = options.replicas;
  refuse_replicas(row, request);
  if (options.busy && takes_busy(row)) request.busy = busy_times(times, request);
  request.minibatches = options.steps.value_or(shown_minibatches(row, request));
  request.tied = tied_stages(row, request, options.tied);
  return request;
}

// What is needed of a schedule, which decides how it is made.
enum class Form { Numbers, Lists, Picture };

Form form_of(const Options& options) {
  if (options.summary) return Form::Numbers;
  return options.format == "json" ? Form::Lists : Form::Picture;
}

// Draws a program that has already been made.
void draw_program(Drawing& drawing, Program program, const Times& times) {
  drawing.shape = program;
  drawing.costs = costs_of(times, program, drawing.request.schedule);
  if (drawing.row) drawing.costs = charged(*drawing.row, std::move(drawing.costs));
  drawing.timeless = timeless(program, drawing.costs, drawing.request.schedule);
  Timeline line = simulate(program, drawing.costs);
  drawing.numbers = line;
  drawing.picture = {std::move(program), std::move(line)};
}

void draw_own_order(Drawing& drawing, const Options& options, const Times& times) {
  const OwnOrder own = read_order(drawing.request.schedule, options);
  drawing.request.minibatches = own.program.minibatches;
  Program program = complete(own, drawing.request);
  if (!own.whole) program = finish(std::move(program), drawing.request);
  draw_program(drawing, std::move(program), times);
}

void summarize_into(Drawing& drawing, Form form, const Times& times) {
  CompactSchedule compact = make_compact(*drawing.row, drawing.request);
  drawing.shape = compact.order;
  drawing.costs = costs_of(times, compact.order, drawing.request.schedule);
  drawing.timeless = timeless(compact.order, drawing.costs, drawing.request.schedule);
  drawing.numbers = summarize(compact, drawing.costs);
  if (form == Form::Lists) drawing.compact = std::move(compact);
}

Drawing drawing_of(ScheduleRequest request, const Options& options, const Times& times) {
  Drawing drawing;
  drawing.request = std::move(request);
  const Form form = form_of(options);
  if (names_csv(drawing.request.schedule)) {
    draw_own_order(drawing, options, times);
  } else {
    drawing.row = &require_schedule(drawing.request.schedule);
    if (form == Form::Picture)
      draw_program(drawing, make_program(drawing.request), times);
    else
      summarize_into(drawing, form, times);
  }
  drawing.title = title_of(drawing.request, drawing.shape);
  return drawing;
}

}  // namespace

std::vector<Drawing> drawings_of(const Options& options) {
  const Times times = options.times.empty() ? Times{} : parse_times(options.times);
  std::vector<ScheduleRequest> requests;
  int most = 1;
  for (const std::string& name : options.schedules) {
    requests.push_back(request_of(name, options, times));
    most = std::max(most, requests.back().minibatches);
  }
  for (ScheduleRequest& request : requests) request.minibatches = most;  // for comparison
  refuse_too_large(requests, options);
  std::vector<Drawing> drawings;
  for (ScheduleRequest& request : requests)
    drawings.push_back(drawing_of(std::move(request), options, times));
  return drawings;
}

}  // namespace pipetrain
