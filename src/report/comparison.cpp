#include "report/comparison.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

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

using Figure = std::function<double(const RunRecord&)>;  // NaN if there is none

struct Column {
  std::string head, key;  // in the table, in the JSON
  Figure value;
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

using Winners = std::vector<const RunRecord*>;

// All runs that share the best value. A run that learnt nothing wins nothing.
Winners winners_of(std::span<const RunRecord> runs, const Figure& figure, bool higher_is_better) {
  Winners winners;
  double best = kNone;
  for (const RunRecord& run : runs) {
    const double value = run.learnt ? figure(run) : kNone;
    if (std::isnan(value)) continue;
    if (winners.empty() || (higher_is_better ? value > best : value < best)) {
      best = value;
      winners = {&run};
    } else if (value == best) {
      winners.push_back(&run);
    }
  }
  return winners;
}

// The runs to mark in a column: none if all ranked runs that have a value have the same one.
Winners marked_in(const Column& column, std::span<const RunRecord> runs) {
  if (!column.has_best) return {};
  const Winners winners = winners_of(runs, column.value, column.higher_is_better);
  const auto with_value = std::ranges::count_if(
      runs, [&](const RunRecord& run) { return run.learnt && !std::isnan(column.value(run)); });
  return std::ssize(winners) < with_value ? winners : Winners{};
}

// "mt", "mt and mtb", "a, b and c"; "all" if these are all of more than two.
std::string names_of(const Winners& winners, std::span<const RunRecord> runs) {
  const auto ranked = std::ranges::count_if(runs, &RunRecord::learnt);
  if (winners.size() > 2 && std::ssize(winners) == ranked)
    return ranked == std::ssize(runs) ? "all" : "all ranked runs";
  std::string names = winners[0]->name;
  for (std::size_t i = 1; i < winners.size(); ++i)
    names += (i + 1 < winners.size() ? ", " : " and ") + winners[i]->name;
  return names;
}

// Why runs of which each has a validation loss are not ranked by it; empty if they are.
std::string losses_text(std::span<const RunRecord> runs) {
  const LossKinds kinds = loss_kinds(runs);
  if (!kinds.differ()) return "";
  return fmt::format(
      "Not ranked by validation loss, which is of different kinds: cross_entropy ({}), mse ({}).",
      fmt::join(kinds.cross_entropy, ", "), fmt::join(kinds.mse, ", "));
}

void check_target(Measure measure, double target) {
  if (measure == Measure::Accuracy && target > 1)
    throw UsageError(
        fmt::format("--target {:g}: an accuracy is a share from 0 to 1; write --target {:g}",
                    target, target <= 100 ? target / 100 : 0.95));
  if (measure == Measure::Bleu && target > 100)
    throw UsageError(
        fmt::format("--target {:g}: these runs are compared by BLEU, which is from 0 to 100; write "
                    "a smaller number",
                    target));
  if (measure == Measure::Perplexity && target < 1)
    throw UsageError(
        fmt::format("--target {:g}: these runs are compared by perplexity, which is at least 1; "
                    "write a larger number",
                    target));
}

}  // namespace

Comparison comparison_of(std::span<const RunRecord> runs, std::optional<double> target) {
  Comparison comparison{.measure = common_measure(runs), .target = target};
  if (!comparison.measure) return comparison;
  if (target)
    check_target(*comparison.measure, *target);
  else
    comparison.target = common_target(runs, *comparison.measure);
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
    const Winners marked = marked_in(column, runs);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      const double value = column.value(runs[r]);
      const bool is_best = std::ranges::count(marked, &runs[r]) > 0;
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
  std::string sentences;
  for (const std::string& sentence : {failures_text(runs), comparison_sentence(runs, comparison)})
    if (!sentence.empty()) sentences += sentence + "\n";
  return columns(plain) + (sentences.empty() ? "" : "\n" + sentences);
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
  if (!comparison.measure) return losses_text(runs);
  if (runs.size() < 2) return "";
  const Measure measure = *comparison.measure;
  const MeasureWords words = measure_words(measure);
  const auto best = [&](const RunRecord& run) {
    const auto* const point = best_of(run, measure);
    return point ? *value_of(*point, measure) : kNone;
  };
  const Winners good = winners_of(runs, best, words.higher_is_better);
  if (good.empty()) return "";
  std::string text = fmt::format("The best {}: {} with {}.", words.name, names_of(good, runs),
                                 value_text(measure, best(*good[0])));
  if (!comparison.target) return text;
  const auto time = [&](const RunRecord& run) {
    const auto* const point = first_at(run, measure, *comparison.target);
    return point ? point->seconds : kNone;
  };
  const std::string target = value_text(measure, *comparison.target);
  const Winners first = winners_of(runs, time, false);
  if (first.empty()) return text + fmt::format(" No run reached {}.", target);
  return text + fmt::format(" First to reach {}: {}, after {} of training.", target,
                            names_of(first, runs), seconds_text(time(*first[0])));
}

}  // namespace pipetrain
