#include "metrics/jsonl.hpp"

#include <spdlog/fmt/fmt.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace pipetrain {

MetricsFile::MetricsFile(const std::filesystem::path& path)
    : path_(path), file_(std::fopen(path.c_str(), "w")) {
  if (!file_)
    throw DeviceError(
        fmt::format("{}: cannot be written: {}", path_.string(), std::strerror(errno)));
}

MetricsFile::~MetricsFile() { std::fclose(file_); }

void MetricsFile::write(const nlohmann::ordered_json& event) {
  const std::string line = event.dump() + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file_) != line.size() || std::fflush(file_) != 0)
    throw DeviceError(fmt::format("{}: a write failed: {}; is the disk full?", path_.string(),
                                  std::strerror(errno)));
}

}  // namespace pipetrain
