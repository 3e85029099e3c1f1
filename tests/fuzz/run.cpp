// A run directory. Each input is instructions (changed_folder.hpp) that damage the files of a run
// of two stages; what `report` and `compare` make of it, alone and beside the good run, is written
// or refused. The page is never empty, and no text of a file becomes markup.
#include <map>
#include <nlohmann/json.hpp>

#include "changed_folder.hpp"
#include "memory_folder.hpp"
#include "report/comparison.hpp"
#include "report/report.hpp"

using namespace pipetrain;
namespace fs = std::filesystem;

namespace {

constexpr const char* kMetrics =
    R"({"event":"start","step":0,"model":"net","parameters":61706,"schedule":"pipedream","stages":2,)"
    R"("microbatches":1,"steps":2,"steps_per_epoch":2}
{"event":"step","step":1,"epoch":1,"loss":2.0,"lr":0.1,"step_seconds":0.5,"samples_per_second":64,)"
    R"("bubble":0.25,"stages":[{"busy":0.8,"waiting":0.1,"memory_bytes":3145728,"weight_versions":2,)"
    R"("staleness":1},{"busy":0.4,"waiting":0.5,"memory_bytes":1048576,"staleness":0}]}
{"event":"stability","step":1,"lr_edge":0.4}
{"event":"step","step":2,"epoch":1,"loss":null,"lr":0.1,"step_seconds":0.5,"bubble":0.25,)"
    R"("stages":[{"busy":0.8,"memory_bytes":3145728},{"busy":0.4,"memory_bytes":1048576}]}
{"event":"rebalance","step":2,"from":["a","b"],"to":["b","c"]}
{"event":"validation","step":2,"epoch":1,"loss":0.5,"accuracy":0.9,)"
    R"("validation_memory_bytes":[2097152,4096]}
{"event":"end","step":2,"seconds":1.5,"step_ms_median":500,"stopped_by":"SIGTERM"}
)";
constexpr const char* kPlan =
    R"({"memory_bytes":[3145728,1048576],"memory":[{"weights":1048576},{"weights":524288}],"stages":[)"
    R"({"layers":["conv1","relu1"],"parameters":61000},{"layers":["fc","fc"],"parameters":706}]})";
constexpr const char* kTrace =
    R"({"traceEvents":[{"ph":"M","name":"process_name","pid":0,"args":{"name":"stage 0"}},)"
    R"({"ph":"X","name":"F0","cat":"forward","pid":0,"ts":1.5,"dur":2.5,"args":{"step":1,"version":0}},)"
    R"({"ph":"X","name":"B0","cat":"backward","pid":1,"ts":4,"dur":3,"args":{"step":1,"version":0}}]})";

fuzz::Entries good_run() {
  const std::map<std::string, const char*> texts = {
      {"build.json", R"({"pipetrain":"0.1.0","onednn":"3.2.0"})"},
      {"config.resolved.toml", "[model]\nname = \"net\"\n"},
      {"metrics.jsonl", kMetrics},
      {"plan.json", kPlan},
      {"trace.json", kTrace}};
  fuzz::Entries entries;
  for (const auto& [name, text] : texts) entries[name] = {fuzz::Entry::Kind::File, text, ""};
  return entries;
}

void write_run(const fs::path& folder, const fuzz::Entries& entries) {
  fs::create_directory(folder);
  fuzz::write_entries(entries, folder);
}

void show(const std::vector<fs::path>& folders) {
  fuzz::refused_or_read([&] {
    const std::vector<RunRecord> runs = read_runs(folders);
    const Comparison comparison = comparison_of(runs, {});
    (void)comparison_text(runs, comparison);
    (void)comparison_json(runs, comparison).dump(2);
    const std::string page = report_html(runs);
    fuzz::require(page.ends_with("</html>\n"), "a page is written to its end");
    fuzz::require(page.find("<i>") == page.npos, "what a file says is text and no markup");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  static const fuzz::MemoryFolder folder;
  static const fs::path good = folder.path() / "good", changed = folder.path() / "changed";
  if (!fs::exists(good)) write_run(good, good_run());
  fuzz::Entries entries = good_run();
  fuzz::change(entries, fuzz::text_of(bytes, count));
  write_run(changed, entries);
  show({changed});
  show({good, changed});
  fs::remove_all(changed);
  return 0;
}
