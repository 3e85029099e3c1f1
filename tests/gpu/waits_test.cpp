// Each wait of one stream for another is there for a reason: left out, it is noticed. Those that
// order nothing are listed, with the reason.
#include <vector>

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

// Is it noticed when the training leaves out its n-th wait?
bool needed(const TrainingSetup& setup, const Trained& right, std::int64_t n) {
  fake_cuda::set({.order = fake_cuda::Order::OthersFirst});
  fake_cuda::ignore_wait(n);
  TrainingSetup again = setup;
  again.make_backend = [](std::string_view name) { return make_backend(name); };
  bool wrong = false;
  try {
    wrong = !same(train(again), right);
  } catch (const std::exception&) {
    wrong = true;
  }
  return !fake_cuda::take_findings().empty() || wrong;
}

}  // namespace

TEST_CASE("a wait that is left out shows as a race or in the bits, or it orders nothing",
          "[cuda]") {
  using Effect = fake_cuda::EventWait::Effect;
  const std::string schedule = GENERATE("1f1b", "pipedream");
  const TrainingSetup setup = inline_stages(schedule);
  const OnFake right = train_on_fake({.order = fake_cuda::Order::AtOnce}, setup);
  // In the order of the runs below: what the host has seen done by then orders, too.
  train_on_fake({.order = fake_cuda::Order::OthersFirst}, setup);
  const std::vector<fake_cuda::EventWait> waits = fake_cuda::event_waits();
  // A packet is taken again after the fence of its reading. The gradient that came back meanwhile
  // was computed after that reading, so stream 0 knows, but not of the fence itself.
  const std::vector<std::int64_t> behind_gradients = schedule == "1f1b"
                                                         ? std::vector<std::int64_t>{12, 20}
                                                         : std::vector<std::int64_t>{8, 12, 16, 20};
  std::vector<std::int64_t> unneeded;
  std::int64_t n = 0;
  for (const fake_cuda::EventWait& wait : waits) {
    INFO(schedule << ", wait " << ++n << " of " << waits.size() << ": " << wait.what);
    const bool noticed = needed(setup, right.trained, n);
    if (wait.effect != Effect::Orders)
      CHECK_FALSE(noticed);
    else if (!noticed)
      unneeded.push_back(n);
  }
  CHECK(unneeded == behind_gradients);
}
