#include "run/rebalance/moving_cut.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/median.hpp"
#include "compile/pipeline_threads.hpp"
#include "graph/graph.hpp"
#include "plan/cost.hpp"
#include "program/simulate.hpp"
#include "run/outlook.hpp"

namespace pipetrain {
namespace {

constexpr int least_steps = 20, settling_steps = 5;
constexpr double least_seconds = 2;

std::vector<int> firsts_of(const Plan& plan) {
  std::vector<int> firsts;
  for (const StagePlan& stage : plan.stages) firsts.push_back(stage.first.value);
  return firsts;
}

// Counts a forward as a third of the work: only the total of each part is measured.
double simulated_ms(const Program& program, const std::vector<PartTimes>& parts) {
  Costs costs;
  for (const PartTimes& part : parts) {
    const double third = part.ms / program.microbatches / 3;
    costs.per_stage.push_back({.forward = third,
                               .backward_input = third,
                               .backward_weight = third,
                               .tail = std::min(part.tail_ms / program.microbatches, third),
                               .update = part.update_ms});
  }
  return simulate(program, costs).makespan;
}

RebalancerInput rebalancer_input(const Pipeline& pipeline, std::int64_t steps) {
  const PipelineInput& in = pipeline.input();
  const Program program = pipeline.program();
  const BackendCosts costs = in.backend.costs(in.graph, in.config.training.precision);
  // An update is for the whole mini-batch, where the others are for one sample.
  std::vector<double> updates = estimated_updates(in.graph, costs);
  for (double& update : updates) update /= static_cast<double>(in.config.data.batch_size);
  return {
      .layers = {.costs = estimated_costs(in.graph, costs),
                 .weight_halves = estimated_weight_halves(in.graph, costs),
                 .updates = std::move(updates)},
      .firsts = firsts_of(in.plan),
      .step_ms =
          [program](const std::vector<PartTimes>& parts) { return simulated_ms(program, parts); },
      .steps = steps};
}

}  // namespace

MovingCut::MovingCut(const MovingCutInput& input)
    : in_(input),
      rebalancer_(rebalancer_input(input.pipeline, input.steps)),
      window_(least_steps + settling_steps),
      unseen_(settling_steps),
      busy_seconds_(rebalancer_.firsts().size()) {}

void MovingCut::see(const StepRecord& record, double seconds) {
  if (unseen_ > 0) {
    --unseen_;
    return;
  }
  seen_seconds_ += seconds;
  step_seconds_.push_back(seconds);
  for (std::size_t p = 0; p < busy_seconds_.size(); ++p)
    busy_seconds_[p].push_back(record.stages[p].busy_seconds / record.stages[p].copies);
}

bool MovingCut::is_over() const {
  return std::ssize(step_seconds_) >= least_steps && seen_seconds_ >= least_seconds;
}

MeasuredSteps MovingCut::measured(std::int64_t step) const {
  MeasuredSteps window{.step = step, .step_ms = 1e3 * median(step_seconds_), .part_ms = {}};
  for (const std::vector<double>& busy : busy_seconds_)
    window.part_ms.push_back(1e3 * median(busy));
  return window;
}

void MovingCut::consider(std::int64_t step) {
  if (is_inline(in_.pipeline.input().config) || rebalancer_.firsts().size() < 2) return;
  if (!is_over()) return;
  const MeasuredSteps window = measured(step);
  window_ = std::max<std::int64_t>(
      least_steps, static_cast<std::int64_t>(std::ceil(1e3 * least_seconds / window.step_ms)));
  seen_seconds_ = 0;
  step_seconds_.clear();
  for (std::vector<double>& busy : busy_seconds_) busy.clear();
  if (const auto found = rebalancer_.decide(window)) move(*found, step);
}

void MovingCut::move(const Move& move, std::int64_t step) {
  const std::int64_t begin = now_ns();
  const PipelineInput& now = in_.pipeline.input();
  auto plan = std::make_unique<const Plan>(plan_from_cuts(now.graph, move.firsts));
  const PipelineInput next{now.graph,       *plan,     now.config,          now.backend,
                           now.total_steps, now.sizes, now.steps_per_epoch, now.program};
  try {
    CompiledPipeline compiled = compile_pipeline(next);
    check_memory_limit(compiled);
    in_.pipeline.recut(std::move(plan), std::move(compiled));
  } catch (const UsageError& refusal) {  // the cut does not fit: the pipeline is unchanged
    rebalancer_.refused(move);
    return tell(move, step, 0, refusal.what());
  }
  in_.reporter.set_memory(in_.pipeline.memory());
  const double seconds = static_cast<double>(now_ns() - begin) * 1e-9;
  tell(move, step, seconds, "");
  rebalancer_.moved(move, 1e3 * seconds);
  unseen_ = settling_steps;
  window_ += settling_steps;
}

std::vector<std::string> MovingCut::names(const std::vector<int>& firsts) const {
  std::vector<std::string> names;
  for (std::size_t p = 1; p < firsts.size(); ++p)
    names.push_back(in_.pipeline.input().graph.layers[firsts[p]].name);
  return names;
}

void MovingCut::tell(const Move& move, std::int64_t step, double seconds,
                     const std::string& refusal) {
  const auto from = names(rebalancer_.firsts()), to = names(move.firsts);
  nlohmann::ordered_json event = {{"event", "rebalance"},
                                  {"step", step},
                                  {"from", from},
                                  {"to", to},
                                  {"back", move.back},
                                  {"step_ms", move.measured_ms},
                                  {"step_ms_predicted", move.predicted_ms},
                                  {"seconds", seconds}};
  if (!refusal.empty()) event["refused"] = refusal;
  in_.metrics.write(event);
  in_.console.line(
      refusal.empty()
          ? fmt::format("rebalanced after step {}: split [{}] in place of [{}] ({}; {:.2f} s)",
                        step, fmt::join(to, ", "), fmt::join(from, ", "), move.why, seconds)
          : fmt::format("not rebalanced after step {}: split [{}]: {}", step, fmt::join(to, ", "),
                        refusal));
}

}  // namespace pipetrain
