// The configs that come with the source read cleanly.
#include <algorithm>

#include "catch.hpp"
#include "config/fields.hpp"
#include "places.hpp"
#include "read_support.hpp"

using namespace pipetrain;

namespace {

std::vector<std::filesystem::path> paths_of(const config::Key& key, Config& config) {
  using std::filesystem::path;
  if (const auto* one = std::get_if<config::FieldOf<path>>(&key.field)) return {(*one)(config)};
  return std::get<config::FieldOf<std::vector<path>>>(key.field)(config);
}

}  // namespace

TEST_CASE("every config in configs/ and configs/bench/ is read without problems or notes") {
  const std::string folder = GENERATE("configs", "configs/bench");
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_tree() / folder)) {
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

TEST_CASE("every data set of datasets/ is read without problems or notes, and names its files") {
  const std::filesystem::path folder = source_tree() / "datasets";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".toml") continue;
    ++count;
    INFO(entry.path());
    const ReadConfig read =
        read_config({entry.path()}, {"model.file=\"m.toml\"", "validation.every_epochs=1"});
    CHECK(read.notes.empty());
    // Where scripts/fetch-dataset puts them.
    const std::filesystem::path own = folder / entry.path().stem();
    Config config = read.config;
    int named = 0;
    for (const config::Key& key : config::keys()) {
      if (key.samples == config::SampleFiles::None || !config::applies(key, config)) continue;
      INFO(key.path);
      for (const std::filesystem::path& file : paths_of(key, config)) {
        if (file.empty()) continue;
        CHECK(file.parent_path() == own);
        ++named;
      }
    }
    CHECK((named > 0 || config.data.kind == DataKind::Glyphs));
  }
  CHECK(count >= 8);
}
