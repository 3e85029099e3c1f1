// The folder of a run: where it may be, who may write there, what a new start removes, what is said
// at its end.
#include <fstream>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "catch.hpp"
#include "checkpoint/atomic_file.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/scratch.hpp"
#include "run/run_directory.hpp"
#include "run/run_end.hpp"
#include "run/run_lock.hpp"

using namespace pipetrain;

namespace {

using Committed = std::vector<std::int64_t>;

void commit_empty(const std::filesystem::path& run, const Committed& steps) {
  for (const std::int64_t step : steps)
    std::filesystem::create_directories(run / "checkpoints" / checkpoint_name(step));
  write_file(run / "model.safetensors", "weights");
  write_file(run / "checkpoints" / "latest", "a name");
}

}  // namespace

TEST_CASE("a run is in the folder runs, or where --output says", "[run folder]") {
  Config config;
  config.name = "net";
  CHECK(run_directory({}, config) == "runs/net");
  Options options;
  options.output = "/elsewhere";
  CHECK(run_directory(options, config) == "/elsewhere");
}

TEST_CASE("a file in the place of a run's folder is named", "[run folder]") {
  const Scratch scratch;
  write_file(scratch.path / "file", "");
  CHECK_NOTHROW(check_output(scratch.path / "not" / "there"));
  CHECK_THROWS_WITH(check_output(scratch.path / "file" / "run"),
                    Contains((scratch.path / "file").string() + " is a file"));
  CHECK_THROWS_AS(make_folder(scratch.path / "file" / "run"), DeviceError);
}

TEST_CASE("a run that is resumed keeps what is not later than its checkpoint", "[run folder]") {
  const Scratch scratch;
  commit_empty(scratch.path, {2, 4, 6});
  write_file(scratch.path / "checkpoints" / "best", checkpoint_name(6) + "\n");
  Progress resumed;
  resumed.step = 4;
  resumed.best = ValidationResult{.step = 2};
  clear_run(scratch.path, &resumed);
  CHECK(committed_checkpoints(scratch.path / "checkpoints") == Committed{2, 4});
  CHECK_FALSE(std::filesystem::exists(scratch.path / "model.safetensors"));
  CHECK(read_whole_file(scratch.path / "checkpoints" / "latest") == checkpoint_name(4) + "\n");
  CHECK(read_whole_file(scratch.path / "checkpoints" / "best") == checkpoint_name(2) + "\n");
  resumed.best = ValidationResult{.step = 3};  // its checkpoint is gone
  clear_run(scratch.path, &resumed);
  CHECK_FALSE(std::filesystem::exists(scratch.path / "checkpoints" / "best"));
  clear_run(scratch.path, nullptr);
  CHECK(committed_checkpoints(scratch.path / "checkpoints").empty());
  CHECK_FALSE(std::filesystem::exists(scratch.path / "checkpoints" / "latest"));
}

TEST_CASE("two trainings do not get one folder", "[run folder]") {
  const Scratch scratch;
  {
    const RunLock first(scratch.path);
    CHECK_THROWS_WITH(RunLock(scratch.path), Contains("another process is training"));
  }
  CHECK_NOTHROW(RunLock(scratch.path));
  RunLock early(scratch.path / "new");  // the folder does not exist yet
  make_folder(scratch.path / "new");
  early.take();
  CHECK_THROWS_AS(RunLock(scratch.path / "new"), UsageError);
}

TEST_CASE("the end of a run names the last model and the best one", "[run folder]") {
  nlohmann::ordered_json end = {{"step", 6}, {"seconds", 1.25}, {"skipped", 2}};
  end["validation"] = {{"step", 6}, {"loss", 0.5}, {"accuracy", 0.75}};
  end["best_validation"] = {{"step", 4}, {"loss", 0.25}, {"accuracy", 0.875}};
  CHECK(end_text(end, "run") ==
        "trained 6 steps in 1.2 s; 2 updates skipped: gradients not finite\n"
        "last     step 6: validation loss 0.5000, accuracy 75.00%  run/model.safetensors\n"
        "best     step 4: validation loss 0.2500, accuracy 87.50%  (this run's folder has no "
        "checkpoint of it)\n"
        "metrics  run/metrics.jsonl\n"
        "report   run/report.html");
  end["best_validation"]["step"] = 6;
  CHECK_THAT(end_text(end, "run"), Contains("run/model.safetensors  (the best)\nmetrics"));
}

TEST_CASE("a run that a signal ended names its checkpoint", "[run folder]") {
  CHECK_THAT(interrupted_text({{"step", 3}, {"stopped_by", "SIGINT"}}, "run"),
             Contains("stopped by SIGINT after step 3") &&
                 Contains("run/checkpoints/" + checkpoint_name(3)));
}
