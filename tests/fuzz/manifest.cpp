// A checkpoint's manifest. Its checksum would refuse nearly every input, so each is tried a second
// time with the checksum that fits. What reads must come back the same from its text.
#include "checkpoint/manifest.hpp"

#include "fitted_manifest.hpp"
#include "target.hpp"

using namespace pipetrain;

namespace {

void read(const std::string& text) {
  const std::string written = manifest_text(parse_manifest(text, "manifest.json"));
  fuzz::require(manifest_text(parse_manifest(written, "manifest.json")) == written,
                "a manifest reads back from its text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  const std::string text(fuzz::text_of(bytes, count));
  fuzz::refused_or_read([&] { read(text); });
  return fuzz::refused_or_read([&] { read(fuzz::with_checksum(text)); });
}
