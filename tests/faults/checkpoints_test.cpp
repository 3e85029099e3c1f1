// The disk fails at its n-th operation while a run saves checkpoints: no checkpoint is lost, the
// exit code is never 0, and the same command resumes to the very model that a sound disk gives.
#include <algorithm>

#include "catch.hpp"
#include "failing_run.hpp"

namespace fs = std::filesystem;

namespace {

// Steps of the checkpoints that a folder has, by their names.
std::vector<int> checkpoints_in(const fs::path& run) {
  std::vector<int> steps;
  if (!fs::exists(run / "checkpoints")) return steps;
  for (const std::string& name : files_of(run / "checkpoints"))
    if (name.starts_with("step-") && !name.ends_with(".part"))
      steps.push_back(std::stoi(name.substr(5)));
  return steps;
}

}  // namespace

TEST_CASE("the n-th operation on the disk fails in a run that saves", "[faults]") {
  const TestFolder folder;
  const fs::path out = folder.path / "out", run = out / "run";
  fs::create_directory(out);
  const std::string train =
      "train --quiet " + folder.config().string() + " --output " + run.string() +
      " --set checkpoint.every_steps=2 --set checkpoint.keep_latest=1 --set optimizer.momentum=0.9";
  REQUIRE(run_binary(train).code == 0);
  const std::string whole = bytes_of(run / "model.safetensors");
  CHECK(checkpoints_in(run).back() == 6);

  int n = 1;
  for (;; ++n) {
    fs::remove_all(run);
    const auto [ran, fired] =
        run_failing(train, {.kind = "write", .at = n, .reason = ENOSPC, .under = out}, folder);
    INFO("operation " << n << ": " << ran.err);
    const bool costs_the_run = fired && !has(ran.err, "this run has no report");
    CHECK(ran.code == (costs_the_run ? 4 : 0));
    const std::vector<int> saved = checkpoints_in(run);
    if (!saved.empty()) {
      const Ran verified = run_binary("checkpoint verify " + run.string());
      INFO(verified.err);
      CHECK(verified.code == 0);
    }
    // Every checkpoint that was reported exists.
    if (fs::exists(run / "metrics.jsonl"))
      for (const auto& event : events_of(run))
        if (event["event"] == "checkpoint")
          CHECK((!saved.empty() && saved.back() >= event["step"].get<int>()));
    if (!fired) break;
    CHECK(has(ran.err, "No space left"));
    const Ran again = run_binary(train);
    INFO(again.err);
    CHECK(again.code == 0);
    CHECK((bytes_of(run / "model.safetensors") == whole));
    for (const std::string& name : files_of(run / "checkpoints"))
      CHECK_FALSE(name.ends_with(".part"));
  }
  CHECK(n > 90);
}
