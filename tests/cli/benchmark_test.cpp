// What the verb benchmark says of a config.
#include "catch.hpp"
#include "run_folder.hpp"

using nlohmann::json;

TEST_CASE(
    "a benchmark has figures of each stage and the bytes between them, and is as short as asked") {
  const TestFolder folder;
  const Ran ran = run_binary("benchmark " + folder.config().string() +
                             " --seconds 0.001 --json --set pipeline.stages=2");
  INFO(ran.out << ran.err);
  REQUIRE(ran.code == 0);
  const json result = json::parse(ran.out)["results"][0];
  CHECK(result["samples_per_second"] > 0);
  CHECK(result["step_ms_min"] <= result["step_ms_median"]);
  REQUIRE(result["stages"].size() == 2);
  for (const json& stage : result["stages"]) {
    CHECK(stage["memory_bytes_measured"] > 0);
    CHECK(stage["busy"] > 0);
  }
  const json& sent = result["communication"];
  CHECK(sent["counted"] == sent["predicted"]);
  CHECK(result["steps"] >= 3);
  CHECK(sent["steps"] >= result["steps"].get<int>() + 2);
  const double ms = result["steps"].get<double>() * result["step_ms_median"].get<double>();
  CHECK(ms < 1000);  // without --seconds it is measured for 3 seconds
}

TEST_CASE("a benchmark measures no step that fills or drains a pipeline") {
  const TestFolder folder;
  // With those in flight at the end at most. The third program begins twelve mini-batches together,
  // before its loop: on a slow machine, where three are measured, nine others are trained.
  const auto [keys, before, most] = GENERATE(table<std::string, int, int>({
      {"--set 'pipeline.schedule=\"gpipe\"'", 2, 6},
      {"--set 'pipeline.schedule=\"pipedream\"'", 3, 7},
      {"--set 'pipeline.schedule=\"pipedream\"' --set pipeline.microbatches=1", 4, 9},
      {"--set 'pipeline.schedule=\"pipemare\"' --set pipeline.pipemare.sync_warmup_epochs=4", 3, 7},
  }));
  const Ran ran = run_binary("benchmark " + folder.config().string() +
                             " --seconds 0.001 --json --set pipeline.stages=2" +
                             " --set 'hardware.workers=\"inline\"' " + keys);
  INFO(keys << ran.out << ran.err);
  REQUIRE(ran.code == 0);
  const json result = json::parse(ran.out)["results"][0], sent = result["communication"];
  CHECK(sent["counted"] == sent["predicted"]);
  const int others = sent["steps"].get<int>() - result["steps"].get<int>();
  CHECK(others >= before);
  CHECK(others <= most);
}

TEST_CASE("a benchmark writes nothing") {
  const TestFolder folder;
  const auto before = files_of(folder.path);
  folder.config();
  REQUIRE(run_binary("benchmark " + folder.config().string() + " --seconds 0.001",
                     "cd " + folder.path.string() + " &&")
              .code == 0);
  CHECK(files_of(folder.path).size() == before.size() + 1);
}
