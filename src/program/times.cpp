// The text of --times.
#include <charconv>
#include <cmath>

#include <spdlog/fmt/fmt.h>
#include "base/error.hpp"
#include "program/simulate.hpp"

namespace pipetrain {
namespace {

[[noreturn]] void fail(std::string_view item, std::string_view why) {
  throw UsageError(fmt::format(
      "--times: `{}` {}; write for example --times F=1,B=2,W=0,transfer=0.5", item, why));
}

double parse_time(std::string_view item, std::string_view number) {
  double value = 0;
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size() || !std::isfinite(value))
    fail(item, "has no number");
  if (value < 0) fail(item, "is negative");
  return value;
}

double* time_named(StageCosts& costs, std::string_view name) {
  if (name == "F") return &costs.forward;
  if (name == "B") return &costs.backward_input;
  if (name == "W") return &costs.backward_weight;
  if (name == "transfer") return &costs.transfer;
  return nullptr;
}

}  // namespace

Costs parse_times(std::string_view text) {
  Costs costs{.all = {0, 0, 0, 0}};
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    more = comma != text.npos;
    const auto item = text.substr(0, comma);
    const auto equals = item.find('=');
    if (equals == item.npos) fail(item, "is not NAME=NUMBER");
    double* time = time_named(costs.all, item.substr(0, equals));
    if (!time) fail(item, "names none of F, B, W, transfer");
    *time = parse_time(item, item.substr(equals + 1));
    if (more) text.remove_prefix(comma + 1);
  }
  return costs;
}

}  // namespace pipetrain
