#include "report/stage_tables.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/bytes_text.hpp"
#include "base/xml_text.hpp"
#include "report/colours.hpp"
#include "report/measure.hpp"
#include "report/numbers.hpp"
#include "report/table.hpp"

namespace pipetrain {
namespace {

std::size_t most_held(const RunRecord& run) {
  std::size_t most = 1;
  for (const StageRecord& stage : run.stages)
    most = std::max({most, stage.memory_bytes, stage.predicted_bytes});
  return most;
}

// A stage's memory by use, on the scale of the stage that holds the most.
std::string uses_bar(const StageRecord& stage, std::size_t most) {
  std::string text = "<div class=\"bar wide\" style=\"min-width:180px\">";
  for (std::size_t u = 0; u < stage.uses.size(); ++u)
    text += fmt::format("<i class=\"{}\" style=\"width:{:.2f}%\" title=\"{}: {}\"></i>",
                        colour_class(u),
                        100 * static_cast<double>(stage.uses[u].second) / static_cast<double>(most),
                        xml_text(stage.uses[u].first), bytes_text(stage.uses[u].second));
  return text + "</div>";
}

// With the sum over the stages of each use that the first stage names.
std::string uses_legend(const RunRecord& run) {
  std::string text = "<div class=\"legend\">";
  const auto& uses = run.stages[0].uses;
  for (std::size_t u = 0; u < uses.size(); ++u) {
    std::size_t bytes = 0;
    for (const StageRecord& stage : run.stages)
      for (const auto& [use, size] : stage.uses)
        if (use == uses[u].first) bytes += size;
    text += fmt::format("<span><i class=\"{}\"></i>{} {}</span>", colour_class(u),
                        xml_text(uses[u].first), bytes_text(bytes));
  }
  return text +
         "</div>\n<p class=\"faint\">In training, but for the column on validation. A bar is on "
         "the "
         "scale of the stage that holds the most; the figures beside the colours are sums over the "
         "stages. Packets: activations and gradients on their way between stages.</p>\n";
}

}  // namespace

std::string bottleneck_text(const RunRecord& run) {
  if (run.stages.size() < 2 || run.steps.empty()) return "";
  const std::size_t busiest = busiest_stage(run);
  double next = 0;
  for (std::size_t s = 0; s < run.stages.size(); ++s)
    if (s != busiest) next = std::max(next, run.stages[s].busy);
  const double most = run.stages[busiest].busy;
  if (most < 0.5)
    return fmt::format(
        "No stage computes for more than {} of the time (stage {} does), so the step is bound by "
        "waiting: for messages, for cores, or while the pipeline fills and drains.",
        share_text(most), busiest);
  if (next > 0.9 * most)
    return fmt::format(
        "The load is even: the busiest stage, {}, computes {} of the time, the next "
        "one {}.",
        busiest, share_text(most), share_text(next));
  return fmt::format(
      "Stage {} is the bottleneck: it computes {} of the time, the next one {}. Fewer layers on it "
      "would shorten the step.",
      busiest, share_text(most), share_text(next));
}

std::string stages_table(const RunRecord& run) {
  TableRows rows = {{{"stage"},
                     {"layers"},
                     {"parameters"},
                     {"computes"},
                     {"waits"},
                     {"other"},
                     {"staleness"},
                     {"versions"}}};
  for (std::size_t s = 0; s < run.stages.size(); ++s) {
    const StageRecord& stage = run.stages[s];
    const bool has_weights = stage.parameters > 0;
    const double other = std::max(1 - stage.busy - stage.waiting, 0.);
    rows.push_back({{std::to_string(s)},
                    {stage.layers},
                    {count_text(stage.parameters)},
                    {share_text(stage.busy), false, bar_of(stage.busy, "c0")},
                    {share_text(stage.waiting), false, bar_of(stage.waiting, "c5")},
                    {share_text(other)},
                    {has_weights ? fmt::format("{:.3g}", stage.staleness) : "-"},
                    {has_weights ? std::to_string(stage.weight_versions) : "-"}});
  }
  return html_table(rows) +
         "<p class=\"faint\">Shares of the training's time. Other: transfers, updates and what is "
         "between steps. Staleness: updates between a micro-batch's forward and its backward, mean "
         "over the steps. Versions: copies of the weights kept at once, at most.</p>\n";
}

std::string memory_table(const RunRecord& run) {
  if (run.stages.empty()) return "";
  const std::size_t most = most_held(run);
  const bool by_use = !run.stages[0].uses.empty();
  TableRows rows = {{{"stage"}, {"predicted"}, {"measured"}, {"validation"}}};
  if (by_use) rows[0].push_back({"used for (predicted)"});
  for (std::size_t s = 0; s < run.stages.size(); ++s) {
    const StageRecord& stage = run.stages[s];
    rows.push_back({{std::to_string(s)},
                    {bytes_text(stage.predicted_bytes)},
                    {bytes_text(stage.memory_bytes)},
                    {bytes_text(stage.validation_bytes)}});
    if (by_use) rows.back().push_back({"", false, uses_bar(stage, most)});
  }
  return html_table(rows) + (by_use ? uses_legend(run) : "");
}

}  // namespace pipetrain
