#include "transport/id_exchange.hpp"

#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/check.hpp"
#include "base/error.hpp"
#include "catch.hpp"

using namespace pipetrain;

namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
  const fs::path path = fs::temp_directory_path() / ("pipetrain-ids-" + std::to_string(::getpid()));
};

std::vector<std::byte> blob(int first) {
  std::vector<std::byte> bytes(128);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(first + static_cast<int>(i));
  return bytes;
}

std::unique_ptr<IdExchange> exchange(const Folder& folder, std::string run, double seconds = 5) {
  return make_file_exchange({folder.path, std::move(run), seconds});
}

std::string failure(IdExchange& ids, const std::string& name) {
  try {
    ids.take(name);
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "";
}

int files_in(const fs::path& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("what one process gives the others take, early or late", "[transport]") {
  const Folder folder;
  const auto first = exchange(folder, "run 1"), second = exchange(folder, "run 1"),
             third = exchange(folder, "run 1");
  std::vector<std::byte> early;
  std::thread waiting([&] { early = second->take("boundary0"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  first->give("boundary0", blob(1));
  waiting.join();
  CHECK(early == blob(1));
  CHECK(third->take("boundary0") == blob(1));
  first->give("stage1", {});
  CHECK(third->take("stage1").empty());
}

TEST_CASE("what an earlier start left is not taken", "[transport]") {
  const Folder folder;
  const fs::path file = folder.path / "a.id", kept = folder.path / "kept";
  auto killed = exchange(folder, "run 1");
  killed->give("a", blob(1));
  fs::copy_file(file, kept);
  killed.reset();
  fs::rename(kept, file);  // as if it had not come to its end
  const auto first = exchange(folder, "run 2"), second = exchange(folder, "run 2", 0.05);
  const std::string stale = failure(*second, "a");
  CHECK(stale.find("belongs to another start of the run after 0.05 s") != stale.npos);
  CHECK(stale.find(folder.path.string()) != stale.npos);
  first->give("a", blob(2));
  CHECK(second->take("a") == blob(2));
}

TEST_CASE("a process that never gives is named by its file", "[transport]") {
  const Folder folder;
  const std::string said = failure(*exchange(folder, "run", 0.05), "boundary3-lane0-gradients");
  CHECK(said.find("boundary3-lane0-gradients.id is missing after 0.05 s") != said.npos);
  CHECK(said.find("check that") != said.npos);
}

TEST_CASE("a damaged file is not taken, whichever byte it is", "[transport]") {
  const Folder folder;
  const auto first = exchange(folder, "run"), second = exchange(folder, "run", 0);
  first->give("a", blob(1));
  const fs::path file = folder.path / "a.id";
  std::ifstream in(file, std::ios::binary);
  const std::string good(std::istreambuf_iterator<char>(in), {});
  const auto put = [&](const std::string& text) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
  };
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    put(bad);
    CHECK(failure(*second, "a").find("is damaged") != std::string::npos);
    put(good.substr(0, i));
    CHECK(failure(*second, "a").find("is damaged") != std::string::npos);
  }
  put(good);
  CHECK(second->take("a") == blob(1));
}

TEST_CASE("a file under another's name is not taken", "[transport]") {
  const Folder folder;
  const auto first = exchange(folder, "run"), second = exchange(folder, "run", 0);
  first->give("a", blob(1));
  fs::copy_file(folder.path / "a.id", folder.path / "b.id");
  CHECK(failure(*second, "b").find("has another name") != std::string::npos);
}

TEST_CASE("nothing is left behind", "[transport]") {
  const Folder folder;
  {
    const auto first = exchange(folder, "run");
    first->give("a", blob(1));
    first->give("b", blob(2));
    CHECK(files_in(folder.path) == 2);  // no partial files
    first->withdraw("a");
    first->withdraw("a");
    CHECK(files_in(folder.path) == 1);
  }
  CHECK(files_in(folder.path) == 0);
}

TEST_CASE("what a later start has given stays", "[transport]") {
  const Folder folder;
  auto earlier = exchange(folder, "run 1");
  earlier->give("a", blob(1));
  const auto later = exchange(folder, "run 2");
  later->give("a", blob(2));
  earlier.reset();
  CHECK(later->take("a") == blob(2));
}

TEST_CASE("a folder that cannot be made, a run without a token, a name with a slash",
          "[transport]") {
  const Folder folder;
  fs::create_directories(folder.path);
  std::ofstream(folder.path / "file") << "x";
  CHECK_THROWS_AS(make_file_exchange({folder.path / "file", "run"}), DeviceError);
  CHECK_THROWS_AS(make_file_exchange({folder.path, ""}), InternalError);
  CHECK_THROWS_AS(exchange(folder, "run")->give("../a", blob(1)), InternalError);
}
