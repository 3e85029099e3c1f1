// report and compare: folders that hold no run, metrics that cannot be read, targets.
#include "row.hpp"

namespace {

const std::string one_step =
    "{\"event\":\"start\",\"model\":\"net\",\"schedule\":\"1f1b\",\"steps\":1}\n"
    "{\"event\":\"step\",\"step\":1,\"loss\":1,\"step_seconds\":1}\n";

}  // namespace

std::vector<Row> report_rows() {
  return {
      {"a report of nothing", {}, "report --json", 2, {"RUN", "pipetrain report --help"}},
      {"a report of a folder that is no run's",
       {{"run/", ""}},
       "report run",
       2,
       {"run is not a run directory", "metrics.jsonl", "runs/quickstart"}},
      {"a comparison with a config",
       {{"run/metrics.jsonl", one_step}},
       "compare run base.toml",
       2,
       {"base.toml is not a run directory"}},
      {"a report of metrics that are a pipe",
       {{"run/", ""}},
       "report run",
       3,
       {"run/metrics.jsonl: cannot be read"},
       false,
       "mkfifo run/metrics.jsonl; "},
      {"a target that is no number",
       {{"run/metrics.jsonl", one_step}},
       "compare run --target nan",
       2,
       {"--target", "nan"}},
      {"a report in the place of a folder",
       {{"run/metrics.jsonl", one_step}},
       "report run --output run",
       2,
       {"run is a folder", "--output"}},
  };
}
