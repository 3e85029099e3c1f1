// The step event of metrics.jsonl: its keys are an interface.
#include "metrics/step_summary.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"

using namespace pipetrain;

namespace {

StepSummary summary() {
  return {.step = 7,
          .epoch = 2,
          .loss = 0.5,
          .lr = 0.05,
          .grad_norm = 1.5,
          .samples = 64,
          .seconds = 0.25,
          .samples_per_second = 256,
          .bubble = 0.125,
          .stages = {{.busy = 0.75,
                      .waiting = 0.25,
                      .memory_bytes = 4096,
                      .weight_versions = 3,
                      .staleness = 1.5},
                     {}}};
}

std::vector<std::string> keys(const nlohmann::ordered_json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

}  // namespace

TEST_CASE("a step's keys, exactly", "[metrics]") {
  const auto event = step_event(summary());
  CHECK(keys(event) == std::vector<std::string>{"event", "step", "epoch", "loss", "lr", "grad_norm",
                                                "samples", "samples_per_second", "step_seconds",
                                                "bubble", "stages"});
  REQUIRE(event["stages"].size() == 2);
  for (const auto& stage : event["stages"])
    CHECK(keys(stage) == std::vector<std::string>{"busy", "waiting", "memory_bytes",
                                                  "weight_versions", "staleness"});
}

TEST_CASE("a step's values", "[metrics]") {
  const auto event = step_event(summary());
  CHECK(event["event"] == "step");
  CHECK(event["step"] == 7);
  CHECK(event["epoch"] == 2);
  CHECK(event["loss"] == 0.5);
  CHECK(event["lr"] == 0.05);
  CHECK(event["grad_norm"] == 1.5);
  CHECK(event["samples"] == 64);
  CHECK(event["samples_per_second"] == 256);
  CHECK(event["step_seconds"] == 0.25);
  CHECK(event["bubble"] == 0.125);
  CHECK(event["stages"][0]["busy"] == 0.75);
  CHECK(event["stages"][0]["waiting"] == 0.25);
  CHECK(event["stages"][0]["memory_bytes"] == 4096);
  CHECK(event["stages"][0]["weight_versions"] == 3);
  CHECK(event["stages"][0]["staleness"] == 1.5);
  CHECK(event["stages"][1]["weight_versions"] == 1);
}

TEST_CASE("only a skipped step has the key for it", "[metrics]") {
  StepSummary skipped = summary();
  skipped.skipped = true;
  CHECK(step_event(skipped)["skipped"] == true);
  CHECK_FALSE(step_event(summary()).contains("skipped"));
}
