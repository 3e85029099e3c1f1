// What the tests of runs share: a folder of their own, a small training, and readers of what it
// leaves.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_binary.hpp"

struct TestFolder {  // a fresh one, removed at the end
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  // Writes a file, and gives its path.
  std::filesystem::path write(const std::string& name, const std::string& text) const;
  // A training of drawn digits by a perceptron in two stages: 6 steps with validation.
  std::filesystem::path config() const;

  std::filesystem::path path;
};

bool has(const std::string& text, const std::string& part);
std::string bytes_of(const std::filesystem::path& file);
// Every line of metrics.jsonl; the test fails if one is not a JSON object or the last one is torn.
std::vector<nlohmann::json> events_of(const std::filesystem::path& run);
// The losses of its steps, exactly as written.
std::vector<nlohmann::json> losses_of(const std::filesystem::path& run);
std::vector<std::string> files_of(const std::filesystem::path& folder);  // sorted names
