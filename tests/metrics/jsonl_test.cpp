#include "metrics/jsonl.hpp"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "catch.hpp"

using namespace pipetrain;
namespace fs = std::filesystem;

TEST_CASE("a line is in the file when write returns, and an earlier run's are gone") {
  const fs::path file =
      fs::temp_directory_path() / ("pipetrain-jsonl-" + std::to_string(::getpid()));
  std::ofstream(file) << "{\"event\":\"old\"}\n{\"torn";
  MetricsFile metrics(file);
  metrics.write({{"event", "start"}, {"config", "caf\xe9"}});  // no UTF-8: told all the same
  metrics.write({{"event", "step"}, {"loss", 0.5}});
  std::ifstream stream(file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  CHECK(
      text ==
      "{\"event\":\"start\",\"config\":\"caf\xef\xbf\xbd\"}\n{\"event\":\"step\",\"loss\":0.5}\n");
  metrics.close();
  fs::remove(file);
}

TEST_CASE("a disk that is full is named") {
  MetricsFile metrics("/dev/full");
  try {
    metrics.write({{"event", "start"}});
    FAIL("nothing was thrown");
  } catch (const DeviceError& error) {
    CHECK(std::string(error.what()).find("/dev/full: cannot be written: No space left") == 0);
  }
}
