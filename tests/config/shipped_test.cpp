// The configs that come with the source read cleanly.
#include <algorithm>

#include "catch.hpp"
#include "places.hpp"
#include "read_support.hpp"

using namespace pipetrain;

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
    const auto lie_there = [&](const std::filesystem::path& file) {
      return file.empty() || file.parent_path() == folder / entry.path().stem();
    };
    const DataConfig& data = read.config.data;
    CHECK(lie_there(data.train_images));
    CHECK(lie_there(data.train_text));
    CHECK(lie_there(data.train_folder));
    CHECK(lie_there(data.train_text));
    CHECK(std::ranges::all_of(data.train_files, lie_there));
  }
  CHECK(count >= 8);
}
