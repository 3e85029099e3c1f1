// Lines from a stream: the same as from a file, and the same refusals.
#include "data/text/line_stream.hpp"

#include <sstream>

#include "catch.hpp"
#include "data/text/line_file.hpp"
#include "data_files.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  std::istringstream in(text);
  LineStream stream(in, "in");
  Lines lines;
  while (const auto line = stream.next()) lines.emplace_back(*line);
  CHECK(stream.lines() == std::ssize(lines));
  CHECK_FALSE(stream.next());
  return lines;
}

std::string refused_lines(const std::string& text) {
  return message_of<DataError>([&] { lines_of(text); });
}

}  // namespace

TEST_CASE("lines of a stream are those of a file of the same bytes", "[lines]") {
  const Folder folder;
  const std::string long_line(line_bytes_max, 'x'), zero("a\0b\n", 4);
  for (const std::string& text :
       {std::string(""), std::string("\n"), std::string("a\nb"), std::string("a\nb\n"),
        std::string("\n\na\n\n"), std::string("a\r\nb\rc\r\n\r\n"), std::string("a\u2028\u00e9\n"),
        zero, long_line, long_line + "\n", long_line + "\nb"}) {
    LineFile file(folder.write("text", text));
    Lines lines;
    while (const auto line = file.next()) lines.emplace_back(*line);
    CHECK(lines_of(text) == lines);
  }
}

TEST_CASE("a stream that is not UTF-8, or has too long a line, is refused with the line",
          "[lines]") {
  CHECK(contains(refused_lines("a\nb\xff"), "in:2: invalid UTF-8: byte 1 of the line is 0xff"));
  CHECK(contains(refused_lines("\xc3\n"), "in:1: invalid UTF-8"));
  const std::string too_long(line_bytes_max + 1, 'x');
  for (const char* const end : {"", "\n", "\r\n", "\nb", "xxxxxxx\n"})
    CHECK(contains(refused_lines("a\n" + too_long + end),
                   "in:2: the line is longer than 1048576 bytes"));
}

TEST_CASE("a stream that fails is not taken for the end of the text", "[lines]") {
  std::istringstream in("a\nb\n");
  LineStream stream(in, "in");
  (void)stream.next();
  in.setstate(std::ios::badbit);
  CHECK(contains(message_of<DataError>([&] { stream.next(); }), "in:2: cannot be read"));
}
