// Records of TensorBoard's event files: bytes as the format has them, and damage that is noticed.
#include "metrics/event_records.hpp"

#include "catch.hpp"
#include "metrics/crc32c.hpp"

using namespace pipetrain;

namespace {

std::string message_of(const std::string& record) {
  return record.substr(12, record.size() - 12 - 4);
}

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) out += static_cast<char>(value);
  return out;
}

}  // namespace

TEST_CASE("a scalar event, byte by byte", "[events]") {
  const std::string record =
      scalar_record({.wall_time = 1.5, .step = 300, .scalars = {{"loss", 0.25}}});
  const std::string message =
      bytes({0x09, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f}) +  // wall_time: double 1.5
      bytes({0x10, 0xac, 0x02}) +                    // step: 300
      bytes({0x2a, 13, 0x0a, 11}) +                  // summary, its value
      bytes({0x0a, 4}) + "loss" +                    // tag
      bytes({0x15, 0, 0, 0x80, 0x3e});               // simple_value: float 0.25
  CHECK(message_of(record) == message);
  CHECK(record.substr(0, 8) == bytes({static_cast<int>(message.size()), 0, 0, 0, 0, 0, 0, 0}));
  const std::uint32_t sum = masked_crc32c(message);
  CHECK(record.substr(record.size() - 4) ==
        bytes({static_cast<int>(sum & 255), static_cast<int>(sum >> 8 & 255),
               static_cast<int>(sum >> 16 & 255), static_cast<int>(sum >> 24)}));
}

TEST_CASE("the version that readers look for", "[events]") {
  CHECK(message_of(version_record(0)).substr(11) == bytes({0x1a, 13}) + "brain.Event:2");
}

TEST_CASE("an order to forget", "[events]") {
  CHECK(message_of(restart_record(0, 7)).substr(9) == bytes({0x10, 7, 0x3a, 2, 0x08, 1}));
}

TEST_CASE("records are found one after the other", "[events]") {
  const std::string first = version_record(1),
                    second = scalar_record({2, 41, {{"a", 1}, {"b", 2}}});
  const std::string file = first + second + "torn";
  auto record = first_record(file);
  REQUIRE(record);
  CHECK(record->whole == first);
  CHECK_FALSE(record->has_scalars);
  record = first_record(std::string_view(file).substr(first.size()));
  REQUIRE(record);
  CHECK(record->whole == second);
  CHECK(record->has_scalars);
  CHECK(record->step == 41);
  CHECK_FALSE(first_record("torn"));
  CHECK_FALSE(first_record(""));
}

TEST_CASE("every torn end and every flipped bit is noticed", "[events]") {
  const std::string record = scalar_record({2, 41, {{"loss", 1}}});
  for (std::size_t length = 0; length < record.size(); ++length)
    CHECK_FALSE(first_record(std::string_view(record).substr(0, length)));
  for (std::size_t at = 0; at < record.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = record;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      CHECK_FALSE(first_record(damaged));
    }
}
