// metrics.jsonl: one JSON object a line, for tools and for eyes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace pipetrain {

// Opens anew: what stood there goes. DeviceError, with the system's reason, when the disk refuses;
// the file then still ends with a whole line.
class MetricsFile {
 public:
  explicit MetricsFile(const std::filesystem::path& path);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  void write(const nlohmann::ordered_json& event);  // one line, whole in the file when this returns
  void close();                                     // on the disk when this returns

 private:
  [[noreturn]] void fail(std::string_view what) const;

  std::filesystem::path path_;
  int file_ = -1;
  std::size_t bytes_ = 0;  // of whole lines
};

}  // namespace pipetrain
