// A folded program is the schedule's own, whatever the number of rounds.
#include "program/fold.hpp"

#include "catch.hpp"
#include "program/text.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

ScheduleRequest request_of(const std::string& name, int p, int n, int k) {
  return {.schedule = name, .stages = p, .microbatches = n, .minibatches = k};
}

}  // namespace

TEST_CASE("every schedule that never drains folds, and unfolds to itself") {
  for (const Schedule& row : schedules()) {
    if (row.flushes) continue;
    for (const auto& [p, n] :
         {std::pair{1, 1}, {2, 1}, {4, 1}, {2, 2}, {3, 4}, {4, 4}, {3, 5}, {8, 7}}) {
      ScheduleRequest request =
          request_of(std::string(row.name), p, n,
                     steady_minibatches(row, request_of(std::string(row.name), p, n, 1)));
      if (row.name == "pipedream_2bw" && n < p) continue;
      if (row.name == "v_timeprest" && p > n + 1) continue;
      CAPTURE(row.name, p, n, request.minibatches);
      const int k = request.minibatches;
      const Program shorter = make_program(request);
      request.minibatches = k + 1;
      const auto folded = fold(shorter, make_program(request));
      REQUIRE(folded);
      CHECK(unfold(*folded, 0) == shorter);
      CHECK(unfold(*folded, 1) == folded->program);
      for (const int more : {2, 3, 9}) {
        request.minibatches = k + more;
        CHECK(unfold(*folded, more) == make_program(request));
      }
    }
  }
}

TEST_CASE("a program in its warm-up does not fold") {
  const auto one = make_program(request_of("pipedream", 4, 1, 1)),
             two = make_program(request_of("pipedream", 4, 1, 2));
  CHECK_FALSE(fold(one, two));
}
