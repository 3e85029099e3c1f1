// metrics.jsonl: one JSON object a line, for tools and for eyes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace pipetrain {

// Opens for more. What an earlier start wrote is cut back to the steps up to `keep_steps`: from the
// first event of a later step on everything goes, as do that start's end and a torn last line.
// DeviceError, with the system's reason, when the disk refuses; the file then still ends with a
// whole line.
class MetricsFile {
 public:
  explicit MetricsFile(const std::filesystem::path& path, std::int64_t keep_steps = 0);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  void write(const nlohmann::ordered_json& event);  // one line, whole in the file when this returns
  void flush();  // what was written is on the disk when this returns; from any thread
  void close();  // the same, and the last call

 private:
  void cut_back(std::int64_t keep_steps);
  [[noreturn]] void fail(std::string_view what) const;

  std::filesystem::path path_;
  int file_ = -1;
  std::size_t bytes_ = 0;  // of whole lines
};

}  // namespace pipetrain
