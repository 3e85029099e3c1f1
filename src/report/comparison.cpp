#include "report/comparison.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/bytes_text.hpp"
#include "base/columns.hpp"
#include "base/error.hpp"
#include "report/numbers.hpp"

namespace pipetrain {
namespace {

using nlohmann::ordered_json;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Column {
  std::string head, key;                          // in the table, in the JSON
  std::function<double(const RunRecord&)> value;  // NaN if there is none
  std::function<std::string(double)> text;
  bool higher_is_better = false, has_best = true;
};

int versions_of(const RunRecord& run) {
  int most = 0;
  for (const StageRecord& stage : run.stages) most = std::max(most, stage.weight_versions);
  return most;
}

std::string number_text(double value) { return fmt::format("{:.3g}", value); }

std::vector<Column> columns_of(const Comparison& c) {
  std::vector<Column> columns = {{"stages", "stages",
                                  [](const RunRecord& r) { return double(r.stages.size()); },
                                  number_text, false, false}};
  if (c.measure) {
    const Measure measure = *c.measure;
    const MeasureWords words = measure_words(measure);
    const auto text = [measure](double value) { return value_text(measure, value); };
    columns.push_back({"best " + words.name, "best",
                       [measure](const RunRecord& run) {
                         const auto* const best = best_of(run, measure);
                         return best ? *value_of(*best, measure) : kNone;
                       },
                       text, words.higher_is_better});
    if (c.target) {
      const double target = *c.target;
      const auto at = [measure, target](double ValidationPoint::*figure) {
        return [=](const RunRecord& run) {
          const auto* const point = first_at(run, measure, target);
          return point ? point->*figure : kNone;
        };
      };
      const std::string to = value_text(measure, target);
      columns.push_back(
          {"time to " + to, "seconds_to_target", at(&ValidationPoint::seconds), seconds_text});
      columns.push_back(
          {"epochs to " + to, "epochs_to_target", at(&ValidationPoint::epoch), number_text});
    }
  }
  const std::vector<Column> figures = {
      {"training", "seconds",
       [](const RunRecord& r) { return r.steps.empty() ? kNone : r.steps.back().seconds; },
       seconds_text, false, false},
      {"a step", "step_ms", [](const RunRecord& r) { return r.steps.empty() ? kNone : r.step_ms; },
       [](double ms) { return fmt::format("{:.3g} ms", ms); }},
      {"bubble", "bubble", [](const RunRecord& r) { return r.steps.empty() ? kNone : r.bubble; },
       share_text},
      {"memory", "memory_bytes", [](const RunRecord& r) { return double(memory_of(r)); },
       [](double bytes) { return bytes_text(static_cast<std::size_t>(bytes)); }},
      {"staleness", "staleness",
       [](const RunRecord& r) {
         return r.stages.empty() ? kNone : r.stages[most_staleness(r)].staleness;
       },
       number_text, false, false},
      {"versions", "weight_versions", [](const RunRecord& r) { return double(versions_of(r)); },
       number_text, false, false},
  };
  columns.insert(columns.end(), figures.begin(), figures.end());
  return columns;
}

// NaN if all runs that have a value have the same one. A run that learnt nothing wins nothing.
double best_value(const Column& column, std::span<const RunRecord> runs) {
  double best = kNone;
  bool differ = false;
  for (const RunRecord& run : runs) {
    const double value = run.learnt ? column.value(run) : kNone;
    if (std::isnan(value)) continue;
    if (!std::isnan(best) && value != best) differ = true;
    if (std::isnan(best) || (column.higher_is_better ? value > best : value < best)) best = value;
  }
  return differ && column.has_best ? best : kNone;
}

const RunRecord* winner(std::span<const RunRecord> runs,
                        const std::function<double(const RunRecord&)>& value, bool higher) {
  const RunRecord* best = nullptr;
  for (const RunRecord& run : runs) {
    if (!run.learnt || std::isnan(value(run))) continue;
    if (!best || (higher ? value(run) > value(*best) : value(run) < value(*best))) best = &run;
  }
  return best;
}

}  // namespace

Comparison comparison_of(std::span<const RunRecord> runs, std::optional<double> target) {
  Comparison comparison{.measure = common_measure(runs), .target = target};
  if (comparison.measure == Measure::Accuracy && target > 1)
    throw UsageError(
        fmt::format("--target {:g}: an accuracy is a share from 0 to 1; write --target {:g}",
                    *target, *target <= 100 ? *target / 100 : 0.95));
  if (comparison.measure && !target) comparison.target = common_target(runs, *comparison.measure);
  return comparison;
}

std::string target_note(std::span<const RunRecord> runs, std::optional<double> target) {
  if (!target || common_measure(runs)) return "";
  const bool validated =
      std::ranges::any_of(runs, [](const RunRecord& run) { return !run.validations.empty(); });
  return validated ? "--target has no effect: the runs' validations have no measure in common"
                   : "--target has no effect: no run has a validation";
}

TableRows comparison_rows(std::span<const RunRecord> runs, const Comparison& comparison) {
  const auto columns = columns_of(comparison);
  TableRows rows(runs.size() + 1);
  rows[0] = {{"run"}, {"schedule"}};
  for (const Column& column : columns) rows[0].push_back({column.head});
  for (std::size_t r = 0; r < runs.size(); ++r) rows[r + 1] = {{runs[r].name}, {runs[r].schedule}};
  for (const Column& column : columns) {
    const double best = best_value(column, runs);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      const double value = column.value(runs[r]);
      const bool is_best = runs[r].learnt && value == best;
      rows[r + 1].push_back(std::isnan(value) ? CellText{"-"}
                                              : CellText{column.text(value), is_best});
    }
  }
  return rows;
}

std::string comparison_text(std::span<const RunRecord> runs, const Comparison& comparison) {
  std::vector<std::vector<std::string>> plain;
  for (const auto& row : comparison_rows(runs, comparison)) {
    plain.emplace_back();
    for (const CellText& cell : row) plain.back().push_back(cell.text + (cell.best ? " *" : ""));
  }
  std::string text = columns(plain);
  if (const std::string sentence = comparison_sentence(runs, comparison); !sentence.empty())
    text += "\n" + sentence + "\n";
  if (const std::string failures = failures_text(runs); !failures.empty()) text += failures + "\n";
  return text;
}

ordered_json comparison_json(std::span<const RunRecord> runs, const Comparison& comparison) {
  ordered_json out;
  if (comparison.measure) out["measure"] = measure_words(*comparison.measure).name;
  if (comparison.target) out["target"] = *comparison.target;
  out["runs"] = ordered_json::array();
  for (const RunRecord& run : runs) {
    ordered_json row = {{"run", run.folder.string()},
                        {"name", run.name},
                        {"model", run.model},
                        {"schedule", run.schedule},
                        {"ended", run.ended}};
    for (const Column& column : columns_of(comparison)) {
      const double value = column.value(run);
      if (!std::isnan(value)) row[column.key] = value;
    }
    out["runs"].push_back(row);
  }
  return out;
}

std::string failures_text(std::span<const RunRecord> runs) {
  std::string names;
  for (const RunRecord& run : runs)
    if (!run.learnt) names += (names.empty() ? "" : ", ") + run.name;
  return names.empty() ? "" : fmt::format("Not ranked, failed or learnt nothing: {}.", names);
}

std::string comparison_sentence(std::span<const RunRecord> runs, const Comparison& comparison) {
  if (!comparison.measure || runs.size() < 2) return "";
  const Measure measure = *comparison.measure;
  const MeasureWords words = measure_words(measure);
  const auto best = [&](const RunRecord& run) {
    const auto* const point = best_of(run, measure);
    return point ? *value_of(*point, measure) : kNone;
  };
  const RunRecord* const good = winner(runs, best, words.higher_is_better);
  if (!good) return "";
  std::string text = fmt::format("The best {}: {} with {}.", words.name, good->name,
                                 value_text(measure, best(*good)));
  if (!comparison.target) return text;
  const auto time = [&](const RunRecord& run) {
    const auto* const point = first_at(run, measure, *comparison.target);
    return point ? point->seconds : kNone;
  };
  const std::string target = value_text(measure, *comparison.target);
  const RunRecord* const first = winner(runs, time, false);
  if (!first) return text + fmt::format(" No run reached {}.", target);
  return text + fmt::format(" First to reach {}: {}, after {} of training.", target, first->name,
                            seconds_text(time(*first)));
}

}  // namespace pipetrain
