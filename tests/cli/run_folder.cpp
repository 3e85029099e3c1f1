#include "run_folder.hpp"

#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "catch.hpp"

namespace fs = std::filesystem;

TestFolder::TestFolder() {
  std::string name = fs::temp_directory_path() / "pipetrain-run-XXXXXX";
  REQUIRE(mkdtemp(name.data()));
  path = name;
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

fs::path TestFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path / name, std::ios::binary) << text;
  return path / name;
}

fs::path TestFolder::config() const {
  return write("small.toml", R"([model]
name = "small"
input = { shape = [1, 28, 28] }
[[model.layers]]
name = "flatten"
kind = "flatten"
[[model.layers]]
name = "fc1"
kind = "linear"
out_features = 16
[[model.layers]]
name = "relu1"
kind = "relu"
[[model.layers]]
name = "fc2"
kind = "linear"
out_features = 10
[data]
kind = "glyphs"
train_samples = 96
validation_samples = 40
batch_size = 32
[pipeline]
schedule = "1f1b"
stages = 2
microbatches = 2
split = ["relu1"]
[optimizer]
lr = 0.05
[training]
epochs = 2
[validation]
every_epochs = 1
)");
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  INFO(file);
  REQUIRE(stream);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<nlohmann::json> events_of(const fs::path& run) {
  const std::string text = bytes_of(run / "metrics.jsonl");
  CHECK((text.empty() || text.back() == '\n'));
  std::istringstream lines(text);
  std::vector<nlohmann::json> events;
  for (std::string line; std::getline(lines, line);) {
    events.push_back(nlohmann::json::parse(line, nullptr, false));
    INFO(line);
    REQUIRE(events.back().is_object());
  }
  return events;
}

std::vector<nlohmann::json> losses_of(const fs::path& run) {
  std::vector<nlohmann::json> losses;
  for (const nlohmann::json& event : events_of(run))
    if (event["event"] == "step") losses.push_back(event["loss"]);
  return losses;
}

std::vector<std::string> files_of(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}
