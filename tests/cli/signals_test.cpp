// Signals from outside: a run that is ended saves first, and resumes as if it had not been.
#include <fstream>

#include "catch.hpp"
#include "run_folder.hpp"

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct Endless {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  std::string train(const std::string& steps) const {
    return "train " + folder.config().string() + " --quiet --output " + run.string() +
           " --set training.steps=" + steps;
  }
  // To follow "... & pid=$!": waits until the run's metrics have `pattern` or the run has ended.
  std::string wait_for(const std::string& pattern) const {
    return "while kill -0 $pid 2>/dev/null && ! grep -q '" + pattern + "' " +
           (run / "metrics.jsonl").string() + " 2>/dev/null; do sleep 0.02; done; ";
  }
};

int last_step(const fs::path& run) {
  int last = 0;
  for (const json& event : events_of(run))
    if (event["event"] == "step") last = event["step"];
  return last;
}

}  // namespace

TEST_CASE("SIGTERM and SIGINT finish, save and end with 128 + n; the same command resumes") {
  const auto [name, code] = GENERATE(std::pair("TERM", 143), std::pair("INT", 130));
  const std::string workers = GENERATE("threads", "inline");
  const Endless e;
  const std::string kind = " --set 'hardware.workers=\"" + workers + "\"'";
  const std::string sets = " --set validation.every_epochs=0";
  // A shell's background job ignores SIGINT, unless env resets it.
  const Ran stopped =
      run_binary(e.train("100000000") + kind + sets + " & pid=$!; " + e.wait_for("\"step\":3") +
                     "kill -" + name + " $pid; wait $pid",
                 "env --default-signal=INT");
  INFO(stopped.err);
  CHECK(stopped.code == code);
  CHECK(has(stopped.err, std::string("stopped by SIG") + name));
  const int trained = last_step(e.run);
  REQUIRE(trained > 0);
  const std::vector<json> events = events_of(e.run);
  CHECK(events.back()["event"] == "end");
  CHECK(events.back()["stopped_by"] == std::string("SIG") + name);
  CHECK(events[events.size() - 2]["reason"] == "signal");
  CHECK(events[events.size() - 2]["step"] == trained);
  CHECK_FALSE(fs::exists(e.run / "model.safetensors"));

  const std::string end = std::to_string(trained + 7);
  REQUIRE(run_binary(e.train(end) + kind + sets).code == 0);
  CHECK(last_step(e.run) == trained + 7);
  const std::string continued = bytes_of(e.run / "model.safetensors");
  REQUIRE(run_binary(e.train(end) + sets + " --resume never").code == 0);
  CHECK((bytes_of(e.run / "model.safetensors") == continued));
}

TEST_CASE("a signal that comes twice at once is one signal") {
  const Endless e;
  const Ran ran = run_binary(e.train("100000000") + " & pid=$!; " + e.wait_for("\"step\":3") +
                             "kill -TERM $pid; kill -TERM $pid; wait $pid");
  CHECK(ran.code == 143);
  CHECK(events_of(e.run).back()["event"] == "end");
}

TEST_CASE("SIGUSR1 saves and continues") {
  const Endless e;
  // If the best checkpoint is kept, a request may find its step saved already.
  const Ran ran = run_binary(e.train("100000000") + " --set checkpoint.keep_best=false & pid=$!; " +
                             e.wait_for("\"step\":3") + "kill -USR1 $pid; " +
                             e.wait_for("\"request\"") + "kill -TERM $pid; wait $pid");
  CHECK(ran.code == 143);
  std::vector<std::string> saves;
  for (const json& event : events_of(e.run))
    if (event["event"] == "checkpoint" && event["reason"] != "best")
      saves.push_back(event["reason"]);
  CHECK(saves == std::vector<std::string>{"request", "signal"});
}

TEST_CASE("every_minutes saves once the time has passed") {
  const Endless e;
  REQUIRE(run_binary(e.train("400") + " --set checkpoint.every_minutes=0.0001").code == 0);
  int saves = 0;
  for (const json& event : events_of(e.run))
    saves += event["event"] == "checkpoint" && event["reason"] == "every_minutes";
  CHECK(saves > 0);
}
