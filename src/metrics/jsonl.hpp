// metrics.jsonl: one JSON object a line, for tools and for eyes.
#pragma once

#include <cstdint>
#include <filesystem>

#include <nlohmann/json_fwd.hpp>

#include "metrics/append_file.hpp"

namespace pipetrain {

// Opens for more. What an earlier start wrote is cut back to the steps up to `keep_steps`: from the
// first event of a later step on everything goes, as do that start's end and a torn last line.
// DeviceError, with the system's reason, when the disk refuses; the file then still ends with a
// whole line.
class MetricsFile {
 public:
  explicit MetricsFile(const std::filesystem::path& path, std::int64_t keep_steps = 0);

  void write(const nlohmann::ordered_json& event);  // one line, whole in the file when this returns
  void flush() const { file_.flush(); }  // it is on the disk when this returns; from any thread
  void close() { file_.close(); }        // the same, and the last call

 private:
  AppendFile file_;
};

}  // namespace pipetrain
