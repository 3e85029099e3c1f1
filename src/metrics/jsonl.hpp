// metrics.jsonl: one JSON object per line, for tools and for people.
#pragma once

#include <cstdint>
#include <filesystem>

#include <nlohmann/json_fwd.hpp>

#include "metrics/append_file.hpp"

namespace pipetrain {

// Opens the file to append. Cuts what an earlier start wrote back to the steps up to `keep_steps`:
// removes everything from the first event of a later step on, that start's end event, and a torn
// last line. DeviceError, with the system's reason, if the disk refuses; the file then still ends
// with a whole line.
class MetricsFile {
 public:
  explicit MetricsFile(const std::filesystem::path& path, std::int64_t keep_steps = 0);

  void write(const nlohmann::ordered_json& event);  // a whole line, in the file on return
  void flush() const { file_.flush(); }  // it is on disk when this returns; from any thread
  void close() { file_.close(); }        // the same; must be the last call

 private:
  AppendFile file_;
};

}  // namespace pipetrain
