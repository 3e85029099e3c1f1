#include "report/report.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/printable.hpp"
#include "base/xml_text.hpp"
#include "checkpoint/atomic_file.hpp"
#include "report/comparison.hpp"
#include "report/curves.hpp"
#include "report/page_style.hpp"
#include "report/run_section.hpp"

namespace pipetrain {
namespace {

std::string page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      xml_text(title), kPageStyle, body);
}

std::string one_run(const RunRecord& run) {
  return page(run.name, fmt::format("<h1>{}</h1>\n<p class=\"faint\">{}</p>\n", xml_text(run.name),
                                    xml_text(summary_text(run))) +
                            run_section(run));
}

std::string side_by_side(const std::vector<RunRecord>& runs, std::optional<double> target) {
  const Comparison comparison = comparison_of(runs, target);
  std::string body = fmt::format("<h1>{} runs</h1>\n", runs.size());
  for (const std::string& sentence : {failures_text(runs), comparison_sentence(runs, comparison)})
    if (!sentence.empty()) body += fmt::format("<p>{}</p>\n", xml_text(sentence));
  for (const RunRecord& run : runs)
    for (const std::string& warning : run.warnings)
      body +=
          fmt::format("<p class=\"warning\">{}: {}</p>\n", xml_text(run.name), xml_text(warning));
  body += html_table(comparison_rows(runs, comparison)) +
          "<p class=\"faint\">Times are of training alone, without validations, checkpoints and "
          "measurements of stability. "
          "The target is what every ranked run with a validation reached; <code>--target</code> "
          "sets another one. "
          "Bubble: the share of the time in which workers compute nothing. Staleness: updates "
          "between a micro-batch's forward and its backward, mean over the steps, of the stage "
          "with the most. Versions: copies of the weights that a stage kept at once, at most. "
          "Green: the best of a column, unless all ranked runs are equal "
          "there.</p>\n<h2>Curves</h2>\n" +
          curves(runs) + "<h2>Each run</h2>\n";
  for (const RunRecord& run : runs)
    body += fmt::format("<details><summary>{}</summary>\n<p class=\"faint\">{}</p>\n{}</details>\n",
                        xml_text(run.name), xml_text(summary_text(run)), run_section(run));
  return page(fmt::format("{} runs", runs.size()), body);
}

}  // namespace

std::vector<RunRecord> read_runs(const std::vector<std::filesystem::path>& folders) {
  std::vector<RunRecord> runs;
  for (const auto& folder : folders) runs.push_back(read_run(folder));
  std::vector<std::string> names;
  for (const RunRecord& run : runs) names.push_back(run.name);
  for (RunRecord& run : runs)
    if (std::ranges::count(names, run.name) > 1) run.name = printable(run.folder.string());
  return runs;
}

std::string report_html(const std::vector<RunRecord>& runs, std::optional<double> target) {
  return runs.size() == 1 ? one_run(runs[0]) : side_by_side(runs, target);
}

void write_report(const std::filesystem::path& folder) {
  write_file(folder / report_file, report_html({read_run(folder)}));
}

}  // namespace pipetrain
