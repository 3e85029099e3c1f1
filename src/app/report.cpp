// pipetrain report and compare: what runs left in their folders, as a page and as a table on a
// terminal. Uses no device.
#include "report/report.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "app/verbs.hpp"
#include "base/json_text.hpp"
#include "checkpoint/atomic_file.hpp"
#include "report/comparison.hpp"

namespace pipetrain {

int report(const Options& options) {
  const auto runs = read_runs(options.runs);
  std::filesystem::path to = options.output;
  if (to.empty()) to = runs.size() == 1 ? runs[0].folder / report_file : report_file;
  check_output_file(to);
  if (const std::string note = target_note(runs, options.target); !note.empty())
    spdlog::warn("{}", note);
  else if (options.target && runs.size() == 1)
    spdlog::warn("--target has no effect on the page of one run; pipetrain compare takes it");
  write_file(to, report_html(runs, options.target));
  if (options.json)
    std::cout << json_text(nlohmann::ordered_json{{"report", to.string()}}) << '\n';
  else
    std::cout << fmt::format("{}: written; open it in a browser\n", to.string());
  return 0;
}

int compare(const Options& options) {
  const auto runs = read_runs(options.runs);
  const Comparison comparison = comparison_of(runs, options.target);
  if (const std::string note = target_note(runs, options.target); !note.empty())
    spdlog::warn("{}", note);
  std::cout << (options.json ? json_text(comparison_json(runs, comparison)) + '\n'
                             : comparison_text(runs, comparison));
  return 0;
}

}  // namespace pipetrain
