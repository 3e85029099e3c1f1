// metrics.jsonl: a line is whole or there is an error.
#include "metrics/jsonl.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "catch.hpp"

using namespace pipetrain;

namespace {

std::filesystem::path scratch_file() {
  return std::filesystem::temp_directory_path() /
         ("pipetrain-jsonl-" + std::to_string(::getpid()) + ".jsonl");
}

std::vector<std::string> lines(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> all;
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("one object a line, readable at once, keys in their order", "[metrics]") {
  const auto path = scratch_file();
  MetricsFile file(path);
  file.write({{"event", "start"}, {"a", 1}});
  CHECK(lines(path) == std::vector<std::string>{R"({"event":"start","a":1})"});
  file.write({{"event", "end"}, {"text", "two\nlines"}});
  CHECK(lines(path) == std::vector<std::string>{R"({"event":"start","a":1})",
                                                R"({"event":"end","text":"two\nlines"})"});
  std::filesystem::remove(path);
}

TEST_CASE("a new file takes the place of an old one", "[metrics]") {
  const auto path = scratch_file();
  { MetricsFile(path).write({{"event", "old"}}); }
  { MetricsFile(path).write({{"event", "new"}}); }
  CHECK(lines(path) == std::vector<std::string>{R"({"event":"new"})"});
  std::filesystem::remove(path);
}

TEST_CASE("a run that resumes keeps the lines up to its step", "[metrics]") {
  const auto path = scratch_file();
  {
    MetricsFile file(path);
    file.write({{"event", "start"}, {"step", 0}});
    for (int step = 1; step < 4; ++step) file.write({{"event", "step"}, {"step", step}});
  }
  { MetricsFile(path, 2).write({{"event", "step"}, {"step", 3}, {"again", true}}); }
  CHECK(lines(path) == std::vector<std::string>{R"({"event":"start","step":0})",
                                                R"({"event":"step","step":1})",
                                                R"({"event":"step","step":2})",
                                                R"({"event":"step","step":3,"again":true})"});
  std::filesystem::remove(path);
}

TEST_CASE("a torn last line is removed", "[metrics]") {
  const auto path = scratch_file();
  for (const std::string torn :
       {"{\"event\":\"step\",\"st", "{\"event\":\"step\",\"step\":2}", "3\n"}) {
    std::ofstream(path, std::ios::binary) << "{\"step\":1}\n" << torn;
    { MetricsFile(path, 9).write({{"step", 5}}); }
    CHECK(lines(path) == std::vector<std::string>{R"({"step":1})", R"({"step":5})"});
  }
  std::filesystem::remove(path);
}

TEST_CASE("a loss that is not finite is still JSON", "[metrics]") {
  const auto path = scratch_file();
  { MetricsFile(path).write({{"loss", std::numeric_limits<double>::quiet_NaN()}}); }
  CHECK(nlohmann::json::parse(lines(path).at(0))["loss"].is_null());
  std::filesystem::remove(path);
}

TEST_CASE("a full disk is a device error that names the file and the reason", "[metrics]") {
  const auto path = scratch_file();
  MetricsFile file(path);
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit all{};
  ::getrlimit(RLIMIT_FSIZE, &all);
  const rlimit none{0, all.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &none);  // the smallest disk there can be
  const std::string message = refusal([&] { file.write({{"event", "step"}}); });
  ::setrlimit(RLIMIT_FSIZE, &all);
  std::signal(SIGXFSZ, before);
  CHECK(message.find(path.string()) != std::string::npos);
  CHECK(message.find("cannot be written: File too large") != std::string::npos);
  std::filesystem::remove(path);
}

TEST_CASE("a device in the place of the file is refused", "[metrics]") {
  const std::string message = refusal([&] { MetricsFile file("/dev/null"); });
  CHECK(message.find("/dev/null: cannot be created: it is not a regular file") !=
        std::string::npos);
}

TEST_CASE("a file that cannot be opened is a device error that names it", "[metrics]") {
  const std::string path = "/nowhere/at/all/metrics.jsonl";
  const std::string message = refusal([&] { MetricsFile file(path); });
  CHECK(message.find(path) != std::string::npos);
  CHECK(message.find("No such file") != std::string::npos);
}

TEST_CASE("a name that is not UTF-8 is reported anyway", "[metrics]") {
  const auto path = scratch_file();
  { MetricsFile(path).write({{"config", "caf\xe9"}}); }
  CHECK(lines(path) == std::vector<std::string>{"{\"config\":\"caf\xef\xbf\xbd\"}"});
  std::filesystem::remove(path);
}
