// A manifest's own checksum would refuse nearly every input: here is the one that fits.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <nlohmann/json.hpp>
#include <string>

#include "checkpoint/output_file.hpp"

namespace pipetrain::fuzz {

inline FileSum sum_of(const std::string& text) {
  FileSum sum;
  add_bytes(sum, text.data(), text.size());
  return sum;
}

inline std::string crc_text(const std::string& text) {
  return fmt::format("{:08x}", sum_of(text).crc32);
}

// The same text if it is not a JSON object.
inline std::string with_checksum(const std::string& text) {
  auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_object()) return text;
  json.erase("crc32");
  json["crc32"] =
      crc_text(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace pipetrain::fuzz
