#include "report_rig.hpp"

#include <spdlog/fmt/fmt.h>

#include "checkpoint/atomic_file.hpp"

namespace pipetrain::testing {
namespace {

// The k-th validation's measures of tokens, after its accuracy.
std::string token_measures(const WrittenRun& run, int k) {
  std::string text;
  if (run.perplexity > 0) text += fmt::format(R"("perplexity":{},)", run.perplexity / k);
  if (run.bleu_step > 0) text += fmt::format(R"("bleu":{},)", run.bleu_step * k);
  return text;
}

}  // namespace

void write_run(const std::filesystem::path& folder, const WrittenRun& run) {
  std::filesystem::create_directories(folder);
  std::string lines = fmt::format(
      R"({{"event":"start","step":0,"config":"small","model":"net","parameters":61706,"schedule":"{}",)"
      R"("stages":2,"microbatches":4,"steps":{},"steps_per_epoch":2}})"
      "\n",
      run.schedule, 2 * run.epochs);
  for (int step = 1; step <= 2 * run.epochs; ++step) {
    lines += fmt::format(
        R"({{"event":"step","step":{},"epoch":{},"loss":{},"lr":0.1,"step_seconds":{},)"
        R"("samples_per_second":64,"bubble":0.25,"stages":[)"
        R"({{"busy":0.8,"waiting":0.1,"memory_bytes":3145728,"weight_versions":2,"staleness":1.5}},)"
        R"({{"busy":0.4,"waiting":0.5,"memory_bytes":1048576,"weight_versions":1,"staleness":0.5}}]}})"
        "\n",
        step, (step + 1) / 2, step == 2 ? "null" : fmt::format("{}", 2.0 / step), run.step_seconds);
    if (step % 2 == 0)
      lines +=
          fmt::format(R"({{"event":"validation","step":{},"epoch":{},"loss":{},"accuracy":{},{})"
                      R"("validation_memory_bytes":[2097152,4096]}})"
                      "\n",
                      step, step / 2, 1.0 / step, 0.5 + run.accuracy_step * step / 2,
                      token_measures(run, step / 2));
  }
  lines += fmt::format(
      R"({{"event":"end","step":{},"seconds":9,"step_ms_median":{},"step_ms_predicted":480}})"
      "\n",
      2 * run.epochs, 1e3 * run.step_seconds);
  write_file(folder / "metrics.jsonl", lines);
  write_file(
      folder / "plan.json",
      R"({"memory_bytes":[3145728,1048576],"memory":[{"weights":1048576,"activations":2097152},)"
      R"({"weights":524288,"activations":524288}],"stages":[)"
      R"({"layers":["conv1","<i>relu1"],"parameters":61000},{"layers":["fc","fc"],"parameters":706}]})");
  write_file(folder / "build.json", R"({"pipetrain":"0.1.0","onednn":"3.2.0"})");
  write_file(folder / "config.resolved.toml", "[model]\nname = \"<net>\"\n");
}

}  // namespace pipetrain::testing
