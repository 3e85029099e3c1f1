// Files that fail at the n-th operation, n = 1, 2, ... until none fires: the run ends with the
// right code and names the file and the reason, and half a model.safetensors is never left.
#include <chrono>
#include <fstream>
#include <thread>

#include "catch.hpp"
#include "failing_run.hpp"

namespace fs = std::filesystem;

namespace {

std::string reason_of(int error) { return error == ENOSPC ? "No space left" : "Input/output"; }

}  // namespace

TEST_CASE("the n-th operation on a file of the run directory fails", "[faults]") {
  const int reason = GENERATE(ENOSPC, EIO);
  const TestFolder folder;
  const fs::path run = folder.path / "out" / "run";
  const std::string train = "train --quiet " + folder.config().string() + " --output " +
                            run.string() +
                            " --set training.steps=2 --set metrics.tensorboard=true "
                            "--set metrics.trace_steps=[1,2]";
  REQUIRE(run_binary(train).code == 0);
  const std::string whole = bytes_of(run / "model.safetensors");

  int n = 1;
  for (;; ++n) {
    fs::remove_all(folder.path / "out");
    const auto [ran, fired] = run_failing(
        train, {.kind = "write", .at = n, .reason = reason, .under = folder.path / "out"}, folder);
    INFO("operation " << n << ": " << ran.err);
    if (fs::exists(run / "model.safetensors"))
      CHECK((bytes_of(run / "model.safetensors") == whole));
    if (!fired) {
      CHECK(ran.code == 0);
      break;
    }
    const bool is_report = has(ran.err, "this run has no report");  // which does not fail the run
    CHECK(ran.code == (is_report ? 0 : 4));
    if (is_report) CHECK(fs::exists(run / "model.safetensors"));
    CHECK(has(ran.err, (folder.path / "out").string()));
    CHECK(has(ran.err, reason_of(reason)));
    CHECK((has(ran.err, "check the disk") || has(ran.err, "choose another folder")));
    if (fs::exists(run / "metrics.jsonl")) {
      const auto events = events_of(run);  // no torn line
      if (has(ran.err, "model.safetensors")) CHECK(events.back()["event"] == "error");
    }
    if (fs::exists(run))
      for (const std::string& name : files_of(run)) CHECK_FALSE(name.ends_with(".part"));
    // Nothing that is left behind gets in the way of the same command.
    if (n % 7 == 0) CHECK(run_binary(train).code == 0);
  }
  // Two folders; five files of open, write, fsync, close, rename and their folder's three;
  // metrics.jsonl with 4 events.
  CHECK(n - 1 >= 2 + 5 * 8 + 1 + 4 + 2);
}

TEST_CASE("the n-th read of a data file or of weights fails", "[faults]") {
  const TestFolder folder;
  const fs::path data = folder.path / "data", run = folder.path / "run";
  fs::create_directory(data);
  std::string images = {0, 0, 8, 3, 0, 0, 0, 64, 0, 0, 0, 28, 0, 0, 0, 28},
              labels = {0, 0, 8, 1, 0, 0, 0, 64};
  for (int i = 0; i < 64 * 784; ++i) images += static_cast<char>(i * 7 % 251);
  for (int i = 0; i < 64; ++i) labels += static_cast<char>(i % 10);
  folder.write("data/images", images);
  folder.write("data/labels", labels);
  const fs::path more = folder.write("more.toml", R"([data]
kind = "idx"
train_images = "data/images"
train_labels = "data/labels"
train_range = [0, 64]
[validation]
every_epochs = 0
[training]
steps = 2
)");
  const std::string train =
      "train --quiet " + folder.config().string() + " " + more.string() + " --output ";
  REQUIRE(run_binary(train + (data / "first").string()).code == 0);
  const std::string from = train + run.string() + " --set 'model.init=\"" +
                           (data / "first/model.safetensors").string() + "\"'";
  int n = 1;
  for (;; ++n) {
    fs::remove_all(run);
    const auto [ran, fired] = run_failing(from, {.kind = "read", .at = n, .under = data}, folder);
    INFO("read " << n << ": " << ran.err);
    if (!fired) {
      CHECK(ran.code == 0);
      break;
    }
    CHECK(ran.code == 3);
    CHECK(has(ran.err, data.string()));
    CHECK(has(ran.err, "Input/output error"));
    CHECK_FALSE(fs::exists(run));
  }
  CHECK(n - 1 >= 6);  // three files: each opened and read
}

TEST_CASE("standard output that is full, or read in part", "[faults]") {
  const TestFolder folder;
  const std::string train = "train " + folder.config().string() + " --output ";
  const fs::path full = folder.path / "full", part = folder.path / "part";
  const Ran ran = run_binary(train + full.string() + " > /dev/full");
  CHECK(ran.code == 4);
  CHECK(has(ran.err, "standard output cannot be written: No space left"));
  CHECK_FALSE(fs::exists(full));
  CHECK(run_binary(train + (folder.path / "json").string() + " --json > /dev/full").code == 4);
  // A reader that has seen enough does not stop a training.
  CHECK(run_binary(train + part.string() + " | head -1").code == 0);
  for (int tenths = 0; tenths < 100 && !fs::exists(part / "model.safetensors"); ++tenths)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK(fs::exists(part / "model.safetensors"));
}

TEST_CASE("an output folder that cannot be made", "[faults]") {
  const TestFolder folder;
  const std::string train = "train --quiet " + folder.config().string() + " --output ";
  const fs::path file = folder.write("file", "mine");
  for (const fs::path& output : {file, file / "below"}) {
    const Ran ran = run_binary(train + output.string());
    CHECK(ran.code == 2);  // the command line names a file
    CHECK(has(ran.err, output.string()));
    CHECK(has(ran.err, "--output"));
  }
  CHECK(bytes_of(file) == "mine");
  // A file of the run that is a folder cannot be replaced.
  fs::create_directories(folder.path / "run/metrics.jsonl");
  const Ran ran = run_binary(train + (folder.path / "run").string());
  CHECK(ran.code == 4);
  CHECK(has(ran.err, "metrics.jsonl: cannot be created: it is a folder"));
}
