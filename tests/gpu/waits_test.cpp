// Each wait of one stream for another is there for a reason: left out, it is noticed.
#include "catch.hpp"
#include "trained_on_fake.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

TrainingSetup inline_stages(const std::string& schedule) {
  return {.model = mlp_model,
          .config = make_config({.stages = 2,
                                 .microbatches = 2,
                                 .schedule = schedule,
                                 .workers = "inline",
                                 .backend = "cuda"}),
          .steps = 3};
}

}  // namespace

TEST_CASE("a wait that is left out shows as a race or in the bits", "[cuda]") {
  const std::string schedule = GENERATE("1f1b", "pipedream");
  const TrainingSetup setup = inline_stages(schedule);
  const OnFake right = train_on_fake({.order = fake_cuda::Order::AtOnce}, setup);
  const std::int64_t waits = fake_cuda::event_waits();
  REQUIRE(waits > 0);
  int noticed = 0;
  for (std::int64_t n = 1; n <= waits; ++n) {
    fake_cuda::set({.order = fake_cuda::Order::OthersFirst});
    fake_cuda::ignore_wait(n);
    TrainingSetup again = setup;
    again.make_backend = [](std::string_view name) { return make_backend(name); };
    bool wrong = false;
    try {
      wrong = !same(train(again), right.trained);
    } catch (const std::exception&) {
      wrong = true;
    }
    noticed += wrong || !fake_cuda::take_findings().empty();
  }
  INFO(schedule << ": " << noticed << " of " << waits);
  // A packet's first writing waits for nobody, and a gradient's arrival says that its activations
  // were read.
  CHECK(noticed * 10 >= waits * 6);
}
