// Every schedule's transfers in the order in which its program issues them, through the channels of
// NCCL under rendezvous: none deadlocks and none reads what has not come; and the same programs
// with other designs, which do deadlock, so that this test can fail.
#include <map>

#include "base/error.hpp"
#include "catch.hpp"
#include "program_run.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

std::optional<Program> make(std::string_view schedule, int workers, int microbatches) try {
  return make_program({.schedule = std::string(schedule),
                       .stages = workers,
                       .microbatches = microbatches,
                       .minibatches = 2,
                       .virtual_stages = 2});
} catch (const UsageError&) {
  return std::nullopt;
}

}  // namespace

TEST_CASE("every schedule runs through channels of NCCL", "[transport][nccl]") {
  std::map<std::string_view, int> made;
  unsigned seed = 0;
  for (const auto& row : schedules())
    for (int workers = 2; workers <= 4; ++workers)
      for (int microbatches = 1; microbatches <= 8; ++microbatches) {
        const auto program = make(row.name, workers, microbatches);
        if (!program) continue;
        ++made[row.name];
        ++seed;
        CAPTURE(row.name, workers, microbatches, seed);
        fake::ProgramRun run(*program, {.seed = seed, .announces = seed % 2 == 0});
        CHECK(run.walk() == "");
        CHECK(run.wrong() == 0);
      }
  for (const auto& row : schedules()) {
    CAPTURE(row.name);
    CHECK(made[row.name] > 0);
  }
}

TEST_CASE("each worker a thread that waits: no deadlock either", "[transport][nccl]") {
  for (const auto& row : schedules()) {
    const auto program = make(row.name, 4, 4);
    if (!program) continue;
    CAPTURE(row.name);
    fake::ProgramRun run(*program, {.seed = 7});
    CHECK(run.race() == "");
    CHECK(run.wrong() == 0);
  }
}

TEST_CASE("one communicator for both kinds deadlocks, and so do sends that block",
          "[transport][nccl]") {
  const bool together = GENERATE(true, false);
  const fake::RunOptions options{.one_communicator_per_pair = together, .sends_block = !together};
  int programs = 0, stuck = 0;
  for (const auto& row : schedules())
    for (int microbatches = 1; microbatches <= 8; ++microbatches) {
      const auto program = make(row.name, 2, microbatches);
      if (!program) continue;
      fake::ProgramRun run(*program, options);
      ++programs;
      stuck += run.walk() != "";
    }
  CAPTURE(programs, stuck);
  CHECK(stuck > programs / 2);
  fake::ProgramRun smallest(make("1f1b", 2, 2).value(), options);
  CHECK(smallest.walk() != "");
}

TEST_CASE("a deadlock ends in words, not in a hang", "[transport][nccl]") {
  fake::ProgramRun run(make("1f1b", 2, 2).value(),
                       {.one_communicator_per_pair = true, .seconds_max = 0.5});
  const std::string said = run.race();
  CHECK(said.find("(the limit is 0.5 s)") != said.npos);
  CHECK(said.find("of boundary 0") != said.npos);
}
