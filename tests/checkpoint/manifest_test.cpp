// manifest.json: what is written reads back, and nothing else does.
#include "checkpoint/manifest.hpp"

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "catch.hpp"

using namespace pipetrain;

namespace {

Manifest example() {
  Manifest m;
  m.model = "lenet5";
  m.seed = 18446744073709551615u;
  m.epoch = 3;
  m.progress.step = 300;
  m.progress.skipped = 2;
  m.progress.seconds = 1.25;
  m.progress.last = ValidationResult{300, 3, 0.1, 0.97, 0.99};
  m.progress.best = ValidationResult{200, 2, 0.3 - 0.2};
  m.progress.without_progress = 1;
  m.data = DataSums{1000, 10, {{"data.train_files", 5, {1u << 30, 0xfeed}}}};
  m.files = {{"stage-0000.safetensors", {1234, 0xdeadbeef}, {"conv1", "block.0.fc"}},
             {"config.resolved.toml", {7, 1}, {}}};
  return m;
}

std::string refusal(const std::string& text) {
  try {
    parse_manifest(text, "ck/manifest.json");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string& old, const std::string& other) {
  const auto at = text.find(old);
  REQUIRE(at != text.npos);
  return text.replace(at, old.size(), other);
}

}  // namespace

TEST_CASE("a manifest reads back as it was written") {
  CHECK(parse_manifest(manifest_text(example()), "m") == example());
  Manifest empty;
  CHECK(parse_manifest(manifest_text(empty), "m") == empty);
  Manifest diverged = example();
  diverged.progress.last->loss = std::numeric_limits<double>::infinity();
  CHECK(std::isnan(parse_manifest(manifest_text(diverged), "m").progress.last->loss));
}

TEST_CASE("a manifest keeps the BLEU of the best checkpoint, and is read without one") {
  Manifest translated = example();
  translated.progress.last->bleu = 31.4;
  translated.progress.best->bleu = 33.25;
  CHECK(parse_manifest(manifest_text(translated), "m") == translated);
  CHECK_FALSE(parse_manifest(manifest_text(example()), "m").progress.best->bleu);
  CHECK(manifest_text(example()).find("bleu") == std::string::npos);
}

TEST_CASE("any flipped bit of a manifest is found, or changes nothing") {
  const std::string text = manifest_text(example());
  for (std::size_t i = 0; i < text.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = text;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      bool same = true;
      try {
        same = parse_manifest(flipped, "m") == example();
      } catch (const DataError&) {
      }
      CHECK(same);
    }
}

TEST_CASE("anything but a manifest is refused with its name and the reason") {
  const std::string text = manifest_text(example());
  for (const std::string bad : {"", "{", "[]", "3", "null", "{}"})
    CHECK(refusal(bad).find("ck/manifest.json: not a valid manifest") == 0);
  CHECK(refusal(text.substr(0, text.size() / 2)) != "");
  CHECK(refusal(replaced(text, "\"version\": 1", "\"version\": 2")).find("format 2") !=
        std::string::npos);
  CHECK(refusal(replaced(text, "\"step\": 300", "\"step\": 301")).find("checksum") !=
        std::string::npos);
  CHECK(refusal(replaced(text, "\"step\": 300", "\"step\": -1")).find("'step'") !=
        std::string::npos);
  CHECK(refusal(replaced(text, "\"bytes\": 1234", "\"bytes\": 1e99")).find("'bytes'") !=
        std::string::npos);
  CHECK(refusal(replaced(text, "deadbeef", "deadbeeX")).find("hexadecimal") != std::string::npos);
  CHECK(refusal(replaced(text, "stage-0000", "../0000")).find("file name") != std::string::npos);
  CHECK(refusal(replaced(text, "config.resolved.toml", "stage-0000.safetensors")).find("twice") !=
        std::string::npos);
}

TEST_CASE("a manifest of endlessly nested lists is refused, not unfolded") {
  const std::string nested = std::string(100000, '[') + std::string(100000, ']');
  const std::string text = manifest_text(example());
  CHECK(refusal("{\"more\": " + nested + "," + text.substr(1)).find("more than 8 levels") !=
        std::string::npos);
  CHECK(!refusal(nested).empty());
}

TEST_CASE(
    "a manifest holds each key once, at most 100 to an object, and at most a million values") {
  const std::string text = manifest_text(example());
  const auto with = [&](const std::string& more) { return refusal("{" + more + text.substr(1)); };
  CHECK(with("\"step\": 300,").find("it has the key 'step' twice") != std::string::npos);
  std::string members;
  for (int i = 0; i < 100; ++i) members += "\"" + std::to_string(i) + "\": 0,";
  CHECK(with(members).find("an object of more than 100 members") != std::string::npos);
  std::string zeros = "0";
  for (int i = 1; i < 1'000'000; ++i) zeros += ",0";
  CHECK(with("\"more\": [" + zeros + "],").find("more than 1000000 values") != std::string::npos);
}
