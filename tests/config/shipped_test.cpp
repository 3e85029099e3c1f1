// The configs that come with the source read cleanly.
#include <cstdlib>

#include "catch.hpp"
#include "read_support.hpp"

using namespace pipetrain;

TEST_CASE("every config in configs/ and configs/bench/ is read without problems or notes") {
  const char* source = std::getenv("PIPETRAIN_SOURCE");
  REQUIRE(source);
  const std::string folder = GENERATE("configs", "configs/bench");
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(source) / folder)) {
    if (entry.path().extension() != ".toml") continue;
    ++count;
    INFO(entry.path());
    const ReadConfig read = read_config({entry.path()}, {});
    CHECK(read.notes.empty());
    CHECK(read.config.name == entry.path().stem());
    CHECK(read.config.model.file.empty() != read.config.inline_model.empty());
  }
  CHECK(count >= 3);
}
