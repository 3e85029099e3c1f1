#include "base/input_file.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/open_regular.hpp"
#include "catch.hpp"

using namespace pipetrain;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "pipetrain-base-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string why_not(const fs::path& file, std::uint64_t most = 100) {
  try {
    (void)read_whole_file(file, most);
  } catch (const CannotRead& error) {
    return error.why();
  }
  return "";
}

}  // namespace

TEST_CASE("a file is read whole, up to its bound") {
  const Folder folder;
  const fs::path file = folder.write("text", "0123456789");
  CHECK(read_whole_file(file, 10) == "0123456789");
  CHECK(why_not(file, 9) == "it has more than 9 bytes");
  CHECK(read_whole_stream(file) == "0123456789");
}

TEST_CASE("anything but a regular file is refused without waiting, to read and to write") {
  const Folder folder;
  const fs::path pipe = folder.path() / "pipe", ring = folder.path() / "ring";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  fs::create_symlink(ring, ring);
  CHECK(why_not(pipe).starts_with("it is not a regular file"));
  CHECK(why_not("/dev/zero").starts_with("it is not a regular file"));
  CHECK(why_not(folder.path()) == "it is a folder");
  CHECK(why_not(ring) == "Too many levels of symbolic links");
  CHECK(why_not(folder.path() / "none") == "No such file or directory");
  const Opened opened = open_regular(pipe, 1 /* O_WRONLY */);
  CHECK(opened.descriptor == -1);
  CHECK(opened.problem.starts_with("it is not a regular file"));
}

TEST_CASE("a missing file is distinguished from one that cannot be looked at") {
  const Folder folder;
  const fs::path file = folder.write("text", ""), ring = folder.path() / "ring";
  fs::create_symlink(ring, ring);
  CHECK(is_there(file));
  CHECK(is_file(file));
  CHECK(is_folder(folder.path()));
  CHECK_FALSE(is_there(folder.path() / "none"));
  CHECK_FALSE(is_there(file / "below"));
  CHECK_THROWS_AS(is_there(ring), CannotRead);
  CHECK_THROWS_AS(is_there(folder.path() / std::string(300, 'x')), CannotRead);
}

TEST_CASE("only the machine's own troubles are not blamed on the file") {
  CHECK(CannotRead("file", "", ENOENT).is_of_the_file());
  CHECK(CannotRead("file", "it is a folder").is_of_the_file());
  for (const int error : {EMFILE, ENFILE, ENOMEM, EIO})
    CHECK_FALSE(CannotRead("file", "", error).is_of_the_file());
}

TEST_CASE("lines are whole, and reading ends at a torn or an endless one") {
  const Folder folder;
  std::string line;
  TextLines lines(folder.write("text", "one\n\ntwo\ntorn"));
  for (const std::string expected : {"one", "", "two"}) {
    REQUIRE(lines.next(line));
    CHECK(line == expected);
  }
  CHECK_FALSE(lines.next(line));
  TextLines longest(folder.write("long", std::string(200'000, 'x') + "\n"), 100'000);
  CHECK_FALSE(longest.next(line));
}
