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
  CHECK(sent["steps"] >= 3);
  CHECK(sent["steps"] < 20);  // as many as are measured without --seconds, at least
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
