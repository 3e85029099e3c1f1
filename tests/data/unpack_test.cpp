// gzip as we read it: several members in a row, padding, and what is refused.
#include "catch.hpp"
#include "data/byte_file.hpp"
#include "data_files.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

std::string all_of(const Folder& folder, const std::string& bytes) {
  ByteFile file(folder.write("f", bytes));
  const auto read = file.read_all();
  return {read.begin(), read.end()};
}
std::string refusal(const std::string& bytes) {
  const Folder folder;
  return message_of<DataError>([&] { all_of(folder, bytes); });
}

std::string long_text() {
  std::string text;
  for (unsigned i = 0; i < 400000; ++i) text += static_cast<char>(i * i >> 7);
  return text;
}

}  // namespace

TEST_CASE("unpack: plain, packed, and several members come out the same", "[unpack]") {
  const Folder folder;
  const std::string text = long_text();
  CHECK(all_of(folder, text) == text);
  CHECK(all_of(folder, gzipped(text)) == text);
  CHECK(all_of(folder, gzipped("one ") + gzipped("") + gzipped("two")) == "one two");
  CHECK(all_of(folder, gzipped("padded") + std::string(600, '\0')) == "padded");
  CHECK(all_of(folder, "").empty());
  CHECK(all_of(folder, "\x1f") == "\x1f");
  CHECK(all_of(folder, gzipped("")).empty());
}

TEST_CASE("unpack: a packed file cut anywhere is refused", "[unpack]") {
  const std::string packed = gzipped("some text that is packed");
  for (std::size_t size = 2; size < packed.size(); ++size) {
    INFO(size << " of " << packed.size() << " bytes");
    CHECK(contains(refusal(packed.substr(0, size)), "ends early"));
  }
}

TEST_CASE("unpack: a flipped bit never changes what is read", "[unpack]") {
  const Folder folder;
  const std::string packed = gzipped("some text that is packed");
  std::size_t found = 0;
  for (std::size_t at = 10; at < packed.size(); ++at) {
    std::string spoiled = packed;
    spoiled[at] = static_cast<char>(spoiled[at] ^ 0x10);
    INFO("byte " << at);
    try {
      const std::string text = all_of(folder, spoiled);
      CHECK(text == "some text that is packed");  // a bit that no reader looks at
    } catch (const DataError& error) {
      CHECK(contains(error.what(), "gzip data"));
      ++found;
    }
  }
  CHECK(found >= packed.size() - 12);
}

TEST_CASE("unpack: garbage after the last member", "[unpack]") {
  const std::string packed = gzipped("text");
  CHECK(contains(refusal(packed + "x"), "after the gzip data"));
  CHECK(contains(refusal(packed + std::string(3, '\0') + packed), "after the gzip data"));
  CHECK(contains(refusal(packed + "\x1f garbage"), "damaged"));
}

TEST_CASE("unpack: a file that fits is read, one with bytes left over is refused, packed or plain",
          "[unpack]") {
  const Folder folder;
  for (const std::string& bytes : {std::string("12345"), gzipped("12345")}) {
    CHECK(ByteFile(folder.write("f", bytes)).read_rest(5, "five").size() == 5);
    const auto refuse = [&](std::uint64_t count) {
      return message_of<DataError>(
          [&] { ByteFile(folder.write("f", bytes)).read_rest(count, "the numbers"); });
    };
    CHECK(contains(refuse(4), "left over"));
    CHECK(contains(refuse(6), "truncated"));
    CHECK(contains(refuse(std::uint64_t{1} << 60), "truncated"));
  }
}
