// The files that [metrics] asks for, and what a later start does with them.
#include <algorithm>
#include <set>

#include "catch.hpp"
#include "run_folder.hpp"

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string both = " --quiet --set metrics.tensorboard=true --set metrics.trace_steps=[2,3]";

std::vector<std::string> event_files(const fs::path& run) {
  std::vector<std::string> found = files_of(run);
  std::erase_if(found, [](const std::string& name) { return !has(name, "tfevents"); });
  return found;
}

// The steps that the slices of trace.json belong to.
std::vector<int> traced_steps(const fs::path& run) {
  std::vector<int> steps;
  const json document = json::parse(bytes_of(run / "trace.json"));
  for (const json& event : document["traceEvents"])
    if (event["ph"] == "X" && std::ranges::count(steps, event["args"]["step"].get<int>()) == 0)
      steps.push_back(event["args"]["step"]);
  std::ranges::sort(steps);
  return steps;
}

}  // namespace

TEST_CASE("events and a trace are written if they are asked for, and change no weight") {
  const TestFolder folder;
  const fs::path with = folder.path / "with", without = folder.path / "without";
  const std::string train = "train " + folder.config().string() + " --output ";
  REQUIRE(run_binary(train + with.string() + both).code == 0);
  REQUIRE(run_binary(train + without.string() + " --quiet").code == 0);
  CHECK(event_files(with).size() == 1);
  CHECK(traced_steps(with) == std::vector<int>{2, 3});
  CHECK(event_files(without).empty());
  CHECK_FALSE(fs::exists(without / "trace.json"));
  CHECK(bytes_of(with / "model.safetensors") == bytes_of(without / "model.safetensors"));
}

TEST_CASE("starting over removes the events and the trace of the run before") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const std::string train = "train " + folder.config().string() + " --output " + run.string();
  REQUIRE(run_binary(train + both).code == 0);
  REQUIRE(run_binary(train + " --quiet --resume never").code == 0);
  CHECK(event_files(run).empty());
  CHECK_FALSE(fs::exists(run / "trace.json"));
}

TEST_CASE("a trace that reaches beyond the end, or beyond a failure, has the steps that ran") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const std::string train =
      "train " + folder.config().string() + " --quiet --output " + run.string();
  REQUIRE(run_binary(train + " --set metrics.trace_steps=[5,100]").code == 0);
  CHECK(traced_steps(run) == std::vector<int>{5, 6});
  CHECK(run_binary(train +
                   " --resume never --set metrics.trace_steps=[1,100] --set optimizer.lr=1e30")
            .code == 5);
  REQUIRE(fs::exists(run / "trace.json"));
  CHECK(traced_steps(run).front() == 1);
}

TEST_CASE("messages are predicted by the plan, and counted as predicted") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const std::string train = "train " + folder.config().string() + " --quiet --output " +
                            run.string() +
                            " --set data.drop_last=false --set data.train_samples=80 --set "
                            "metrics.trace_steps=[1,1] --set hardware.link.gbits=1";
  REQUIRE(run_binary(train).code == 0);
  const json plan = json::parse(bytes_of(run / "plan.json"))["communication"];
  CHECK(plan["samples"] == 32);
  CHECK(plan["bytes"] > 0);
  const std::vector<json> events = events_of(run);
  std::int64_t bytes = 0, steps = 0;
  for (const json& event : events) {
    if (event["event"] != "step") continue;
    if (event["samples"] == 32)
      CHECK(event["communication"]["activation_bytes"] == plan["activation_bytes"]);
    else
      CHECK(event["communication"]["bytes"] < plan["bytes"]);
    bytes += event["communication"]["bytes"].get<std::int64_t>();
    ++steps;
  }
  CHECK(steps > 1);
  const json end = events.back()["communication"];
  CHECK(end["counted"]["bytes"] == bytes);
  for (const auto& [name, value] : end["predicted"].items())
    if (name != "link_seconds") CHECK(end["counted"][name] == value);
  CHECK(end["counted"]["link_seconds"] > 0);
  int sends = 0;
  const json document = json::parse(bytes_of(run / "trace.json"));
  for (const json& event : document["traceEvents"])
    if (event["ph"] == "X" && event["cat"] == "send activation")
      sends += event["args"]["bytes"] ==
               plan["activation_bytes"][0].get<int>() / plan["activation_messages"][0].get<int>();
  CHECK(sends == plan["activation_messages"][0]);
}

TEST_CASE("synchronous epochs before segments of stages send less, as predicted") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const std::string train =
      "train " + folder.config().string() + " --quiet --output " + run.string() +
      " --set pipeline.schedule=pipemare --set pipeline.warmup=full --set pipeline.microbatches=1 "
      "--set pipeline.recompute=segments --set pipeline.segment_stages=2 --set training.epochs=3 "
      "--set pipeline.pipemare.sync_warmup_epochs=1";
  REQUIRE(run_binary(train).code == 0);
  const json end = events_of(run).back()["communication"];
  CHECK(end["counted"]["activation_bytes"] == end["predicted"]["activation_bytes"]);
  std::set<std::int64_t> messages;
  for (const json& event : events_of(run))
    if (event["event"] == "step")
      messages.insert(event["communication"]["activation_messages"][0].get<std::int64_t>());
  CHECK(messages == std::set<std::int64_t>{1, 2});
}
