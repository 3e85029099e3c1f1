// A file that is being written: what is said where it cannot be made.
#include "checkpoint/output_file.hpp"

#include "base/error.hpp"
#include "scratch.hpp"

using namespace pipetrain;

TEST_CASE("a file in a folder that is not there names the folder") {
  const Scratch scratch;
  try {
    OutputFile(scratch.path / "made/plan.json", "made/plan.json");
    FAIL("written into a missing folder");
  } catch (const DeviceError& error) {
    CHECK(std::string(error.what()) ==
          "made/plan.json: cannot be created: there is no folder made; create it, or name a file "
          "in another one");
  }
  CHECK_FALSE(std::filesystem::exists(scratch.path / "made"));
}

TEST_CASE("a file in a folder that cannot be looked at is a failure of the device") {
  const Scratch scratch;
  CHECK_THROWS_AS(OutputFile(scratch.path / std::string(300, 'x') / "plan.json"), DeviceError);
}

TEST_CASE("a file that cannot be made for another reason says which") {
  const Scratch scratch;
  try {
    OutputFile(scratch.path, "run");
    FAIL("written over a folder");
  } catch (const DeviceError& error) {
    CHECK(contains(error.what(), "run: cannot be created: "));
    CHECK_FALSE(contains(error.what(), "there is no folder"));
  }
}
