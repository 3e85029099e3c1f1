// The folder of checkpoints: names, listing, what a user may name, pruning.
#include "checkpoint/folder.hpp"

#include <fstream>

#include "base/error.hpp"
#include "catch.hpp"
#include "scratch.hpp"

using namespace pipetrain;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& checkpoints, std::int64_t step) {
  const fs::path folder = checkpoints / checkpoint_name(step);
  fs::create_directories(folder);
  std::ofstream(folder / "manifest.json") << "{}";
}

using Steps = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("checkpoints are listed by their steps; other names are ignored") {
  const Scratch scratch;
  CHECK(committed_checkpoints(scratch.path / "none").empty());
  for (const std::int64_t step : {20, 3, 123456789}) put(scratch.path, step);
  for (const char* name :
       {"step-00000007.part", "step-7", "step-", "step-0000000x", "latest", "step"})
    fs::create_directory(scratch.path / name);
  CHECK(checkpoint_name(3) == "step-00000003");
  CHECK(committed_checkpoints(scratch.path) == Steps{3, 20, 123456789});
  remove_leftovers(scratch.path);
  CHECK_FALSE(fs::exists(scratch.path / "step-00000007.part"));
  CHECK(committed_checkpoints(scratch.path).size() == 3);
}

TEST_CASE("a checkpoint is found by its folder, a pointer, or the run's folder") {
  const Scratch scratch;
  const fs::path checkpoints = scratch.path / "checkpoints";
  put(checkpoints, 10);
  put(checkpoints, 20);
  std::ofstream(checkpoints / "best") << "step-00000010\n";
  std::ofstream(checkpoints / "odd") << "../../etc\n";
  const fs::path newest = checkpoints / "step-00000020", older = checkpoints / "step-00000010";
  CHECK(find_checkpoint(scratch.path) == newest);
  CHECK(find_checkpoint(checkpoints) == newest);
  CHECK(find_checkpoint(older) == older);
  CHECK(find_checkpoint(checkpoints / "best") == older);
  fs::remove(older / "manifest.json");
  for (const fs::path& bad : {older, checkpoints / "odd", scratch.path / "none"})
    CHECK_THROWS_AS(find_checkpoint(bad), DataError);
}

TEST_CASE("pruning keeps the newest and the best") {
  const Scratch scratch;
  for (const std::int64_t step : {1, 2, 3, 4, 5}) put(scratch.path, step);
  CHECK(prune_checkpoints(scratch.path, {.latest = 2, .best = 2}) == Steps{1, 3});
  CHECK(committed_checkpoints(scratch.path) == Steps{2, 4, 5});
  CHECK(prune_checkpoints(scratch.path, {.latest = 9, .best = {}}).empty());
  CHECK(prune_checkpoints(scratch.path, {.latest = 1, .best = 5}) == Steps{2, 4});
}
