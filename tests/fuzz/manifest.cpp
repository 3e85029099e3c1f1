// A checkpoint's manifest. Its checksum would refuse nearly every input, so each is tried a second
// time with the checksum that fits. What reads must come back the same from its text.
#include "checkpoint/manifest.hpp"

#include <spdlog/fmt/fmt.h>

#include <nlohmann/json.hpp>

#include "target.hpp"

using namespace pipetrain;

namespace {

void read(const std::string& text) {
  const std::string written = manifest_text(parse_manifest(text, "manifest.json"));
  fuzz::require(manifest_text(parse_manifest(written, "manifest.json")) == written,
                "a manifest reads back from its text");
}

std::string with_checksum(const std::string& text) {
  auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_object()) return text;
  json.erase("crc32");
  const std::string bare = json.dump(2);
  FileSum sum;
  add_bytes(sum, bare.data(), bare.size());
  json["crc32"] = fmt::format("{:08x}", sum.crc32);
  return json.dump();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  const std::string text(fuzz::text_of(bytes, count));
  fuzz::refused_or_read([&] { read(text); });
  return fuzz::refused_or_read([&] { read(with_checksum(text)); });
}
