// The real engine against the scalar trainer on the same programs: asynchronous ones with a
// stash of weights too.
#include "semantics/engine.hpp"
#include "backends.hpp"
#include "catch.hpp"
#include "order/orders.hpp"
#include "schedules.hpp"
#include "versions/versions.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

TEST_CASE("the engine computes what a program says, stashed versions too", "[backends]") {
  const Choice choice{GENERATE(from_range(testing::backend_names())),
                      GENERATE("threads", "inline")};
  const Schedule naive{.name = "naive",
                       .summary = "",
                       .source = "",
                       .order = &orders::async_one_f_one_b,
                       .versions = &versions::latest};
  for (const Schedule* schedule : {&require_schedule("pipedream"), &naive})
    for (const auto& [p, n] : {std::pair{1, 1}, {2, 1}, {4, 1}, {3, 2}, {4, 3}}) {
      const int k = 12;
      const ScalarTask task = random_task(p, n * k);
      const Program program = make_program(
          *schedule, {.schedule = "x", .stages = p, .microbatches = n, .minibatches = k});
      const History expected = ScalarTrainer(program, task).run();
      const std::vector<double> got = train_on_engine(program, task, choice);
      for (int s = 0; s < p; ++s) {
        CAPTURE(schedule->name, p, n, s, choice.backend, choice.workers);
        CHECK(got[static_cast<std::size_t>(s)] ==
              Approx(expected[static_cast<std::size_t>(s)].back()).epsilon(1e-5));
      }
    }
}
