#include "metrics/jsonl.hpp"

#include <nlohmann/json.hpp>

#include "base/input_file.hpp"
#include "base/json_text.hpp"

namespace pipetrain {
namespace {

// Does this line belong to a training that has come to `step` and continues?
bool stays(const std::string& line, std::int64_t step) {
  const auto event = nlohmann::json::parse(line, nullptr, false);
  if (!event.is_object()) return false;
  const std::string kind = event.value("event", "");
  const auto at = event.find("step");
  return kind != "end" && kind != "error" && at != event.end() && at->is_number_integer() &&
         at->get<std::int64_t>() <= step;
}

std::size_t kept_bytes(const std::filesystem::path& path, std::int64_t keep_steps) {
  if (keep_steps == 0) return 0;
  if (!is_there(path)) return 0;
  TextLines lines(path);
  std::size_t bytes = 0;
  for (std::string line; lines.next(line) && stays(line, keep_steps);) bytes += line.size() + 1;
  return bytes;
}

}  // namespace

MetricsFile::MetricsFile(const std::filesystem::path& path, std::int64_t keep_steps)
    : file_(path, kept_bytes(path, keep_steps)) {}

void MetricsFile::write(const nlohmann::ordered_json& event) {
  // Replaces bytes that are not UTF-8.
  file_.write(json_text(event, -1) + "\n");
}

}  // namespace pipetrain
