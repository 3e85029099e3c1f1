// Lines of a file by their numbers.
#include "data/text/line_pairs.hpp"

#include "catch.hpp"
#include "data_files.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

TEST_CASE("all lines of a file, or those asked for, as they are written", "[lines]") {
  const Folder folder;
  const auto file = folder.write("a", "one\n\n  Three \nfour");
  using Lines = std::vector<std::string>;
  CHECK(read_lines(file, {}) == Lines{"one", "", "  Three ", "four"});
  CHECK(read_lines(file, std::vector<std::int64_t>{1, 3}) == Lines{"one", "  Three "});
  CHECK(read_lines(file, std::vector<std::int64_t>{4}) == Lines{"four"});
  CHECK(read_lines(file, std::vector<std::int64_t>{}).empty());
  CHECK(contains(message_of<DataError>([&] {
                   read_lines(file, std::vector<std::int64_t>{2, 5});
                 }),
                 "has 4 lines, but line 5 is needed"));
}
