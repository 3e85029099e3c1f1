// Readers that take nothing: a training trains, saves, obeys signals and ends without them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>

#include "catch.hpp"
#include "run_folder.hpp"

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A named pipe that is full, with a reader that takes nothing.
class FullPipe {
 public:
  explicit FullPipe(fs::path path) : path_(std::move(path)) {
    REQUIRE(::mkfifo(path_.c_str(), 0600) == 0);
    reader_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const int filler = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(::fcntl(filler, F_SETPIPE_SZ, 4096) > 0);
    while (::write(filler, "\n", 1) == 1) {
    }
    ::close(filler);
  }
  ~FullPipe() { ::close(reader_); }
  FullPipe(const FullPipe&) = delete;
  FullPipe& operator=(const FullPipe&) = delete;
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
  int reader_ = -1;
};

struct Blocked {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const FullPipe full{folder.path / "full"};

  // A shell line: trains in the background with `redirect`, then runs `then`, which finds the
  // training as $pid; exits with the training's code, or with 137 if it hangs for a minute.
  Ran train(int steps, const std::string& redirect, const std::string& then) const {
    return run_binary("train " + folder.config().string() + " --output " + run.string() +
                          " --set metrics.log_every_steps=1 --set validation.every_epochs=0" +
                          " --set training.steps=" + std::to_string(steps) + redirect +
                          " & pid=$!; " + then + "; wait $pid",
                      "timeout -s KILL 60");
  }
  std::string wait_for(const std::string& pattern) const {
    return "for i in $(seq 1500); do grep -q '" + pattern + "' " +
           (run / "metrics.jsonl").string() + " 2>/dev/null && break; sleep 0.02; done; ";
  }
  std::string to_pipe(const char* descriptor) const {
    return std::string(" ") + descriptor + "> " + full.path();
  }
};

std::vector<std::string> lines_of(const fs::path& file) {
  std::istringstream text(bytes_of(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("SIGTERM saves and ends a run whose output is not read") {
  const Blocked b;
  const auto [options, descriptor] =
      GENERATE(std::pair("", "1"), std::pair(" --json >/dev/null", "2"), std::pair(" --json", "1"));
  const std::string redirect = options + b.to_pipe(descriptor);
  INFO(redirect);
  const Ran ran = b.train(100000000, redirect, b.wait_for("\"step\":30,") + "kill -TERM $pid");
  CHECK(ran.code == 143);
  const std::vector<json> events = events_of(b.run);
  REQUIRE(events.size() > 30);
  CHECK(events.back()["event"] == "end");
  CHECK(events.back()["stopped_by"] == "SIGTERM");
  const json& saved = events[events.size() - 2];
  CHECK(saved["reason"] == "signal");
  CHECK(saved["step"] == events.back()["step"]);
}

TEST_CASE("a run trains to its end without a reader; one that comes back sees what was dropped") {
  const Blocked b;
  const fs::path got = b.folder.path / "got";
  const Ran ran = b.train(800, b.to_pipe("1"),
                          b.wait_for("\"event\":\"end\"") + "cat " + b.full.path() + " >" +
                              got.string() + " & cat=$!; wait $cat");
  CHECK(ran.code == 0);
  CHECK(losses_of(b.run).size() == 800);
  CHECK(fs::exists(b.run / "model.safetensors"));
  const json end = events_of(b.run).back();
  REQUIRE(end.value("dropped_lines", 0) > 100);

  const std::vector<std::string> lines = lines_of(got);
  int steps = 0;
  std::string notice;
  for (const std::string& line : lines) {
    steps += line.starts_with("step ");
    if (line.starts_with("lines dropped")) notice = line;
  }
  CHECK(steps + end["dropped_lines"].get<int>() == 800);
  CHECK(notice ==
        "lines dropped here because nobody read standard output: " + end["dropped_lines"].dump());
  CHECK(has(lines.back(), "report.html"));
}

TEST_CASE("the document of --json waits for its reader, and a signal ends the wait") {
  const Blocked b;
  const fs::path got = b.folder.path / "got";
  SECTION("a reader who comes late gets all of it") {
    const Ran ran = b.train(3, " --json" + b.to_pipe("1"),
                            b.wait_for("\"event\":\"end\"") + "sleep 0.7; cat " + b.full.path() +
                                " >" + got.string() + " & cat=$!; wait $cat");
    CHECK(ran.code == 0);
    const json document = json::parse(bytes_of(got), nullptr, false);
    REQUIRE(document.is_object());
    CHECK(document["step"] == 3);
  }
  SECTION("a signal") {
    const Ran ran = b.train(3, " --json" + b.to_pipe("1"),
                            b.wait_for("\"event\":\"end\"") + "sleep 0.3; kill -TERM $pid");
    CHECK(ran.code == 143);
    CHECK_FALSE(events_of(b.run).back().contains("stopped_by"));
    CHECK(fs::exists(b.run / "model.safetensors"));
  }
}
