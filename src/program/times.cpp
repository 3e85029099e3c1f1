#include "program/times.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include "base/error.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

constexpr double longest = 1e15;  // a program that fits in memory has a finite sum

[[noreturn]] void fail(std::string_view item, std::string_view why) {
  throw UsageError(
      fmt::format("--times: `{}` {}; write for example --times F=1,B=2,transfer=0.5", item, why));
}

double parse_time(std::string_view item, std::string_view number) {
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool whole = !number.empty() && end == number.data() + number.size();
  if (!whole || error == std::errc::invalid_argument) fail(item, "has no number");
  if (value < 0) fail(item, "is negative");
  if (error != std::errc{} || !(value <= longest))
    fail(item, fmt::format("is not a number from 0 to {:g}", longest));
  return value;
}

// 1, or 1/2/3.
std::vector<double> parse_list(std::string_view item, std::string_view numbers) {
  std::vector<double> list;
  for (bool more = true; more;) {
    const auto slash = numbers.find('/');
    more = slash != numbers.npos;
    list.push_back(parse_time(item, numbers.substr(0, slash)));
    if (more) numbers.remove_prefix(slash + 1);
  }
  return list;
}

std::vector<double>* list_named(Times& times, std::string_view name) {
  if (name == "F") return &times.forward;
  if (name == "B") return &times.backward;
  if (name == "W") return &times.weight;
  if (name == "tail") return &times.tail;
  if (name == "transfer") return &times.transfer;
  if (name == "slowdown") return &times.slowdown;
  if (name == "jitter") return &times.jitter;
  if (name == "seed") return &times.seed;
  return nullptr;
}

// Jitter and its seed are for the whole pipeline.
void require_one(std::string_view item, const std::vector<double>& list, const Times& times) {
  constexpr double most_jitter = 2, most_seed = 0x1p53;
  if (&list == &times.jitter && (list.size() != 1 || list[0] > most_jitter))
    fail(item, fmt::format("is not one number from 0 to {:g}", most_jitter));
  if (&list == &times.seed &&
      (list.size() != 1 || list[0] > most_seed || list[0] != std::floor(list[0])))
    fail(item, "is not one whole number");
  if (&list == &times.slowdown && std::ranges::find(list, 0) != list.end())
    fail(item, "has a worker that takes no time at all");
}

void require_count(std::string_view name, const std::vector<double>& list, int count,
                   std::string_view of, std::string_view schedule) {
  if (list.size() <= 1 || list.size() == static_cast<std::size_t>(count)) return;
  throw UsageError(fmt::format(
      "--times: `{}={:g}` has {} numbers, and {} has {} {} here; write one number for all{}", name,
      fmt::join(list, "/"), list.size(), schedule, count, of,
      count > 1 ? fmt::format(", or {}", count) : ""));
}

double time_at(const std::vector<double>& list, int stage, double unnamed) {
  if (list.empty()) return unnamed;
  return list.size() == 1 ? list[0] : list[stage];
}

int workers_of(const ProgramShape& shape) {
  int last = shape.placement.empty() ? shape.stages - 1 : 0;
  for (const auto& copies : shape.placement)
    for (const WorkerId worker : copies) last = std::max(last, worker.value);
  return last + 1;
}

Disturbance disturbance_of(const Times& times, int workers) {
  Disturbance disturbance;
  if (!times.slowdown.empty())
    for (int w = 0; w < workers; ++w) disturbance.slowdown.push_back(time_at(times.slowdown, w, 1));
  if (!times.jitter.empty()) disturbance.jitter = times.jitter[0];
  if (!times.seed.empty()) disturbance.seed = static_cast<std::uint64_t>(times.seed[0]);
  return disturbance;
}

using OpsOfStages = std::vector<std::set<Op>>;

std::vector<std::string> timeless_of(const OpsOfStages& ops, const Costs& costs,
                                     std::string_view schedule) {
  std::map<Op, std::set<int>> stages;
  for (StageId s{0}; s.value < static_cast<int>(ops.size()); ++s.value)
    for (const Op op : ops[static_cast<std::size_t>(s.value)])
      if (computes(op) && op != Op::Recompute && without_update(op) != Op::BackwardTail &&
          time_of(costs.of(s), op) == 0)
        stages[op == Op::BackwardHead ? Op::Backward : op].insert(s.value);
  std::vector<std::string> lines;
  for (const auto& [op, which] : stages) {
    const bool all = which.size() == ops.size();
    lines.push_back(fmt::format("--times: {} ({}) takes 0 under {}{}", letters(op), op_name(op),
                                schedule,
                                all ? "" : fmt::format(", on stage {}", fmt::join(which, ", "))));
  }
  return lines;
}

}  // namespace

Times parse_times(std::string_view text) {
  Times times;
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    more = comma != text.npos;
    const auto item = text.substr(0, comma);
    const auto equals = item.find('=');
    if (equals == item.npos) fail(item, "is not NAME=NUMBER");
    auto* list = list_named(times, item.substr(0, equals));
    if (!list) fail(item, "names none of F, B, W, tail, transfer, slowdown, jitter, seed");
    if (!list->empty()) fail(item, "names a time twice");
    *list = parse_list(item, item.substr(equals + 1));
    require_one(item, *list, times);
    if (more) text.remove_prefix(comma + 1);
  }
  return times;
}

Costs costs_of(const Times& times, const ProgramShape& shape, std::string_view schedule) {
  require_count("F", times.forward, shape.stages, "model stages", schedule);
  require_count("B", times.backward, shape.stages, "model stages", schedule);
  require_count("W", times.weight, shape.stages, "model stages", schedule);
  require_count("tail", times.tail, shape.stages, "model stages", schedule);
  require_count("transfer", times.transfer, shape.stages - 1, "boundaries between stages",
                schedule);
  require_count("slowdown", times.slowdown, workers_of(shape), "workers", schedule);
  const int parts = shape.gradients_together ? shape.microbatches : 1;
  const StageCosts usual;
  const double half = usual.backward_input * parts;
  Costs costs;
  costs.disturbance = disturbance_of(times, workers_of(shape));
  for (int s = 0; s < shape.stages; ++s) {
    const bool whole = times.weight.empty();
    const double input =
        whole ? time_at(times.backward, s, 2 * half) / 2 : time_at(times.backward, s, half);
    const double weight = whole ? input : time_at(times.weight, s, half);
    const double tail = time_at(times.tail, s, usual.tail);
    if (tail > weight)
      fail(fmt::format("tail={:g}", tail),
           fmt::format("is more than the weight half of a backward that contains it, {:g} under {}",
                       weight, schedule));
    costs.per_stage.push_back(
        {.forward = time_at(times.forward, s, usual.forward),
         .backward_input = input / parts,
         .backward_weight = weight / parts,
         .transfer = s + 1 < shape.stages ? time_at(times.transfer, s, usual.transfer) : 0,
         .tail = tail / parts});
  }
  return costs;
}

std::vector<std::string> timeless(const Program& program, const Costs& costs,
                                  std::string_view schedule) {
  OpsOfStages ops(static_cast<std::size_t>(program.stages));
  for (const auto& list : program.workers)
    for (const Instruction& i : list) ops[static_cast<std::size_t>(i.stage.value)].insert(i.op);
  return timeless_of(ops, costs, schedule);
}

std::vector<std::string> timeless(const CompactOrder& order, const Costs& costs,
                                  std::string_view schedule) {
  std::vector<unsigned> seen(static_cast<std::size_t>(order.stages), 0);  // a bit for each op
  for (const auto& list : order.workers)
    for (const ComputeInstruction i : list) {
      const bool head = i.op() == Op::Backward && i.stage().value > 0 &&
                        (!order.gradients_together || order.ends_minibatch(i.microbatch()));
      seen[static_cast<std::size_t>(i.stage().value)] |=
          1u << static_cast<unsigned>(head ? Op::BackwardHead : i.op());
    }
  OpsOfStages ops(seen.size());
  for (std::size_t s = 0; s < seen.size(); ++s)
    for (const Op op :
         {Op::Forward, Op::Backward, Op::BackwardInput, Op::BackwardWeight, Op::BackwardHead})
      if (seen[s] & 1u << static_cast<unsigned>(op)) ops[s].insert(op);
  return timeless_of(ops, costs, schedule);
}

}  // namespace pipetrain
