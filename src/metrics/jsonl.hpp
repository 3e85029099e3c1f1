// metrics.jsonl: one JSON object a line, for tools and for eyes.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>

#include <nlohmann/json_fwd.hpp>

namespace pipetrain {

// Opens anew: what stood there goes. DeviceError, with the system's reason, when a write fails.
class MetricsFile {
 public:
  explicit MetricsFile(const std::filesystem::path& path);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  void write(const nlohmann::ordered_json& event);  // one line, whole in the file when this returns

 private:
  std::filesystem::path path_;
  std::FILE* file_ = nullptr;
};

}  // namespace pipetrain
