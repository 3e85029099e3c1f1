#include "program/times.hpp"

#include <array>
#include <charconv>
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
  return nullptr;
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
    if (!list) fail(item, "names none of F, B, W, tail, transfer");
    if (!list->empty()) fail(item, "names a time for the second time");
    *list = parse_list(item, item.substr(equals + 1));
    if (more) text.remove_prefix(comma + 1);
  }
  return times;
}

Costs costs_of(const Times& times, const Program& program, std::string_view schedule) {
  require_count("F", times.forward, program.stages, "model stages", schedule);
  require_count("B", times.backward, program.stages, "model stages", schedule);
  require_count("W", times.weight, program.stages, "model stages", schedule);
  require_count("tail", times.tail, program.stages, "model stages", schedule);
  require_count("transfer", times.transfer, program.stages - 1, "boundaries between stages",
                schedule);
  const int parts = program.gradients_together ? program.microbatches : 1;
  const StageCosts usual;
  const double half = usual.backward_input * parts;
  Costs costs;
  for (int s = 0; s < program.stages; ++s) {
    const bool whole = times.weight.empty();
    const double input =
        whole ? time_at(times.backward, s, 2 * half) / 2 : time_at(times.backward, s, half);
    const double weight = whole ? input : time_at(times.weight, s, half);
    const double tail = time_at(times.tail, s, usual.tail);
    if (tail > weight)
      fail(fmt::format("tail={:g}", tail),
           fmt::format("is more than the weight half of a backward, {:g} under {}, of which it is "
                       "the end",
                       weight, schedule));
    costs.per_stage.push_back(
        {.forward = time_at(times.forward, s, usual.forward),
         .backward_input = input / parts,
         .backward_weight = weight / parts,
         .transfer = s + 1 < program.stages ? time_at(times.transfer, s, usual.transfer) : 0,
         .tail = tail / parts});
  }
  return costs;
}

std::vector<std::string> timeless(const Program& program, const Costs& costs,
                                  std::string_view schedule) {
  std::map<Op, std::set<int>> stages;
  for (const auto& list : program.workers)
    for (const Instruction& i : list)
      if (computes(i.op) && i.op != Op::Recompute && without_update(i.op) != Op::BackwardTail &&
          time_of(costs.of(i.stage), i.op) == 0)
        stages[i.op == Op::BackwardHead ? Op::Backward : i.op].insert(i.stage.value);
  std::vector<std::string> lines;
  for (const auto& [op, which] : stages) {
    const bool all = static_cast<int>(which.size()) == program.stages;
    lines.push_back(fmt::format("--times: {} ({}) takes 0 under {}{}", letters(op), op_name(op),
                                schedule,
                                all ? "" : fmt::format(", on stage {}", fmt::join(which, ", "))));
  }
  return lines;
}

}  // namespace pipetrain
