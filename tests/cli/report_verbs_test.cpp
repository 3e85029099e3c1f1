// report.html of every run, and the verbs that make it again and compare runs.
#include "catch.hpp"
#include "run_binary.hpp"
#include "run_folder.hpp"

using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("a run leaves its report, with the steps that it traced") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const Ran ran = run_binary("train " + folder.config().string() + " --output " + run.string() +
                             " --set metrics.trace_steps=[2,3]");
  REQUIRE(ran.code == 0);
  CHECK(has(ran.out, "report   " + (run / "report.html").string()));
  const std::string page = bytes_of(run / "report.html");
  CHECK(has(page, "finished"));
  CHECK(has(page, "Steps 2 to 3, as recorded in trace.json."));
  CHECK(has(page, "flatten to fc1"));
  CHECK(has(page, "activations"));  // memory by use
  fs::remove(run / "report.html");
  REQUIRE(run_binary("report " + run.string()).code == 0);
  CHECK(bytes_of(run / "report.html") == page);
}

TEST_CASE("a run that fails leaves a report that says so") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  REQUIRE(run_binary("train " + folder.config().string() + " --quiet --output " + run.string() +
                     " --set optimizer.lr=1e30")
              .code == 5);
  CHECK(has(bytes_of(run / "report.html"), "failed: training diverged at step"));
}

TEST_CASE("a report that cannot be written costs the run nothing else") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  fs::create_directories(run / "report.html.part");
  const Ran ran =
      run_binary("train " + folder.config().string() + " --quiet --output " + run.string());
  CHECK(ran.code == 0);
  CHECK(has(ran.err, "this run has no report"));
  CHECK(fs::exists(run / "model.safetensors"));
}

TEST_CASE("compare names the columns that its json has") {
  const TestFolder folder;
  const std::string train = "train " + folder.config().string() + " --quiet --output ";
  const fs::path a = folder.path / "a", b = folder.path / "b";
  REQUIRE(run_binary(train + a.string()).code == 0);
  REQUIRE(run_binary(train + b.string() + " --set 'pipeline.schedule=\"pipedream\"'").code == 0);
  const Ran table = run_binary("compare " + a.string() + " " + b.string());
  REQUIRE(table.code == 0);
  for (const std::string word : {"best accuracy", "time to", "epochs to", "bubble", "memory",
                                 "staleness", "pipedream", "The best accuracy:"})
    CHECK(has(table.out, word));
  const Ran ran = run_binary("compare --json --target 0 " + a.string() + " " + b.string());
  REQUIRE(ran.code == 0);
  const json result = json::parse(ran.out);
  CHECK(result["target"] == 0);
  REQUIRE(result["runs"].size() == 2);
  CHECK(result["runs"][1]["schedule"] == "pipedream");
  CHECK(result["runs"][1]["staleness"] > 0);
  CHECK(result["runs"][0]["epochs_to_target"] == 1);
}
