// Run directories, whole and damaged, as reports read them.
#include <cmath>
#include <fstream>

#include "base/error.hpp"
#include "catch.hpp"
#include "checkpoint/atomic_file.hpp"
#include "checkpoint/scratch.hpp"
#include "report/report.hpp"
#include "report_rig.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

void append(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::app) << text;
}

}  // namespace

TEST_CASE("a run's figures are those of its files") {
  const Scratch scratch;
  write_run(scratch.path / "first");
  const RunRecord run = read_run(scratch.path / "first");
  CHECK(run.name == "first");
  CHECK(run.model == "net");
  CHECK(run.ended == "finished");
  CHECK(run.warnings.empty());
  REQUIRE(run.steps.size() == 6);
  CHECK(run.steps.back().seconds == Approx(3));
  CHECK(std::isnan(run.steps[1].loss));  // null, because it was not finite
  CHECK(run.bubble == Approx(0.25));
  CHECK(run.step_ms == 500);
  CHECK(run.predicted_step_ms == 480);
  REQUIRE(run.validations.size() == 3);
  CHECK(run.validations[1].epoch == 2);
  CHECK(run.validations[1].seconds == Approx(2));
  REQUIRE(run.stages.size() == 2);
  CHECK(run.stages[0].busy == Approx(0.8));
  CHECK(run.stages[1].waiting == Approx(0.5));
  CHECK(run.stages[0].staleness == Approx(1.5));
  CHECK(run.stages[0].weight_versions == 2);
  CHECK(run.stages[0].memory_bytes == 3145728);
  CHECK(run.stages[1].predicted_bytes == 1048576);
  CHECK(run.stages[0].validation_bytes == 2097152);
  CHECK(run.stages[1].layers == "fc");
  CHECK(run.stages[0].uses.size() == 2);
}

TEST_CASE("a folder that is not a run directory is refused by its name") {
  const Scratch scratch;
  CHECK_THROWS_WITH(read_run(scratch.path), Contains("not a run directory"));
  CHECK_THROWS_AS(read_run(scratch.path / "not there"), UsageError);
  write_file(scratch.path / "file", "");
  CHECK_THROWS_WITH(read_run(scratch.path / "file"),
                    Contains("file is not a run directory but a file; name the folder of a run"));
}

TEST_CASE("a file of a run is refused with the name of the run's folder") {
  const Scratch scratch;
  const auto run = scratch.path / "digits";
  write_run(run);
  for (const std::string name : {"metrics.jsonl", "plan.json"})
    CHECK_THROWS_WITH(read_run(run / name),
                      (run / name).string() +
                          " is not a run directory but a file; name its folder, " + run.string());
}

TEST_CASE("a torn last line and files that are missing or damaged cost only what they held") {
  const Scratch scratch;
  write_run(scratch.path);
  append(scratch.path / "metrics.jsonl", R"({"event":"ste)");
  write_file(scratch.path / "plan.json", "[1, 2");
  remove(scratch.path / "build.json");
  const RunRecord run = read_run(scratch.path);
  CHECK(run.steps.size() == 6);
  CHECK(run.ended == "finished");
  CHECK(run.stages[0].predicted_bytes == 0);
  REQUIRE(run.warnings.size() == 2);
  CHECK(run.warnings[0].find("plan.json") == 0);
  CHECK(run.warnings[1].find("build.json") == 0);
  CHECK(report_html({run}).find("plan.json: is not a JSON object") != std::string::npos);
}

TEST_CASE("what follows a line that is not JSON is not read, and the line is named") {
  const Scratch scratch;
  write_run(scratch.path);
  append(scratch.path / "metrics.jsonl", "}{\n{\"event\":\"error\",\"message\":\"later\"}\n");
  const RunRecord run = read_run(scratch.path);
  CHECK(run.ended == "finished");
  REQUIRE(run.warnings.size() == 1);
  CHECK(run.warnings[0].find("line 12 ") != std::string::npos);
}

TEST_CASE("values of other types, and absurd numbers, do no harm") {
  const Scratch scratch;
  write_file(
      scratch.path / "metrics.jsonl",
      "{\"event\":7}\n"
      "{\"event\":\"step\",\"step\":1e300,\"loss\":\"x\",\"step_seconds\":1e300,\"stages\":[3,"
      "{\"memory_bytes\":-5,\"weight_versions\":1e14,\"busy\":[]}]}\n"
      "{\"event\":\"validation\",\"loss\":{},\"validation_memory_bytes\":[1,-2,3]}\n");
  write_file(scratch.path / "plan.json",
             R"({"stages":[1,{"layers":[1,2]}],"memory":[0,{"a":-1}],"memory_bytes":["x",-1]})");
  const RunRecord run = read_run(scratch.path);
  CHECK(run.steps.size() == 1);
  CHECK(run.stages.size() == 2);
  CHECK_NOTHROW(report_html({run}));
}

TEST_CASE("stability is read, even if nothing limits the rate") {
  const Scratch scratch;
  write_run(scratch.path);
  std::ofstream(scratch.path / "metrics.jsonl", std::ios::app)
      << R"({"event":"stability","step":2,"lr_edge":0.25,"margin":2.5})"
         "\n"
      << R"({"event":"stability","step":4,"lr_edge":null,"margin":null})"
         "\n";
  const RunRecord run = read_run(scratch.path);
  REQUIRE(run.stability.size() == 2);
  CHECK(run.stability[0].step == 2);
  CHECK(run.stability[0].lr_edge == 0.25);
  CHECK(std::isnan(run.stability[1].lr_edge));
}

TEST_CASE("a warning while training is shown, and the run is ranked all the same") {
  const Scratch scratch;
  write_run(scratch.path);
  append(scratch.path / "metrics.jsonl",
         R"({"event":"warning","step":5,"message":"after step 5 the loss has risen"})"
         "\n");
  const RunRecord run = read_run(scratch.path);
  REQUIRE(run.warnings.size() == 1);
  CHECK(run.learnt);
  CHECK(report_html({run}).find("after step 5 the loss has risen") != std::string::npos);
}

TEST_CASE("a run that failed, and one that has not ended") {
  const Scratch scratch;
  write_file(scratch.path / "metrics.jsonl", R"({"event":"start","model":"net","steps":4})"
                                             "\n");
  CHECK(read_run(scratch.path).ended.empty());
  CHECK(report_html({read_run(scratch.path)}).find("unfinished") != std::string::npos);
  append(scratch.path / "metrics.jsonl", R"({"event":"error","message":"step 3: the loss"})"
                                         "\n");
  CHECK(read_run(scratch.path).ended == "failed: step 3: the loss");
}
