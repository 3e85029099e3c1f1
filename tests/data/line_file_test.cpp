// Lines of text: where they end, also across the edges of what is read at once, and what is
// refused.
#include "data/text/line_file.hpp"

#include "catch.hpp"
#include "data_files.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  LineFile file(path);
  std::vector<std::string> lines;
  while (const auto line = file.next()) lines.emplace_back(*line);
  CHECK(file.lines() == std::ssize(lines));
  CHECK_FALSE(file.next());  // and again
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("lines: with and without an end, ending in CR LF, empty ones", "[lines]") {
  const Folder folder;
  CHECK(lines_of(folder.write("a", "")).empty());
  CHECK(lines_of(folder.write("a", "\n")) == Lines{""});
  CHECK(lines_of(folder.write("a", "a\nb")) == Lines{"a", "b"});
  CHECK(lines_of(folder.write("a", "a\nb\n")) == Lines{"a", "b"});
  CHECK(lines_of(folder.write("a", "\n\na\n\n")) == Lines{"", "", "a", ""});
  CHECK(lines_of(folder.write("a", "a\r\nb\rc\r\n\r\n")) == Lines{"a", "b\rc", ""});
  CHECK(lines_of(folder.write("a", "a\u2028b\n")) == Lines{"a\u2028b"});
}

TEST_CASE("lines: plain and gzip, of every length around what is read at once", "[lines]") {
  const Folder folder;
  Lines lines;
  std::string text;
  for (const std::size_t length : {65534, 65535, 65536, 65537, 1, 0, 131072, 200000, 3}) {
    std::string line(length, 'x');
    if (length > 4) line.replace(length - 3, 3, "\u20ac");  // three bytes, over an edge
    text += line + "\n";
    lines.push_back(line);
  }
  CHECK(lines_of(folder.write("a", text)) == lines);
  CHECK(lines_of(folder.write("a.gz", gzipped(text))) == lines);
}

TEST_CASE("lines: text that is not UTF-8 is refused with line and byte", "[lines]") {
  const Folder folder;
  for (const std::string bytes : {"\xff", "\xc3", "\xe2\x82", "\xed\xa0\x80"}) {
    const auto file = folder.write("a.txt", "good\n\u00e9" + bytes + "\nmore\n");
    const auto said = message_of<DataError>([&] { lines_of(file); });
    CHECK(contains(said, "a.txt:2: invalid UTF-8: byte 2 of the line is 0x"));
    CHECK(contains(said, "save the file as UTF-8"));
  }
}

TEST_CASE("lines: one too long for a sentence is refused before all of it is in memory",
          "[lines]") {
  const Folder folder;
  CHECK(lines_of(folder.write("a", std::string(line_bytes_max, 'x'))).size() == 1);
  for (const std::string end : {"", "\n", "\nb\n"}) {
    const auto file =
        folder.write("a.gz", gzipped("a\n" + std::string(line_bytes_max + 1, 'x') + end));
    CHECK(contains(message_of<DataError>([&] { lines_of(file); }),
                   "a.gz:2: the line is longer than"));
  }
  const auto bomb = folder.write("b.gz", gzipped(std::string(std::size_t{1} << 26, 'x')));
  CHECK(contains(message_of<DataError>([&] { lines_of(bomb); }), "b.gz:1: the line is longer"));
}

TEST_CASE("lines: a file that is cut short or missing is refused by name", "[lines]") {
  const Folder folder;
  const std::string packed = gzipped("some words\nand more\n");
  const auto file = folder.write("a.gz", packed.substr(0, packed.size() - 9));
  CHECK(contains(message_of<DataError>([&] { lines_of(file); }), "a.gz: "));
  CHECK(contains(message_of<DataError>([&] { lines_of(folder / "b"); }), "no such file"));
}
