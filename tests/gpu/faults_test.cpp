// The n-th call of CUDA or its libraries fails: the first error is reported, with its stage, and
// nothing waits forever.
#include <string>

#include "base/error.hpp"
#include "catch.hpp"
#include "trained_on_fake.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

TrainingSetup two_stages(const std::string& workers) {
  return {.model = mlp_model,
          .config = make_config({.stages = 2,
                                 .microbatches = 2,
                                 .schedule = "1f1b",
                                 .workers = workers,
                                 .backend = "cuda"}),
          .steps = 2};
}

// What was thrown; empty if the training finished, whose result must then be right.
std::string failure_of(const TrainingSetup& setup, const Trained& right) {
  try {
    const Trained trained = train(setup);
    CHECK(same(trained, right));
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::Device);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("whichever call of CUDA fails, it is an error of the device, and no hang", "[cuda]") {
  const std::string workers = GENERATE("inline", "threads");
  const bool sticky = GENERATE(false, true);
  TrainingSetup setup = two_stages(workers);
  const OnFake right = train_on_fake({.order = fake_cuda::Order::Lazy}, setup);
  const std::int64_t calls = fake_cuda::calls();
  REQUIRE(calls > 100);
  const std::int64_t stride = std::max<std::int64_t>(1, calls / 150);
  int told = 0, untold = 0;
  bool failed = false;  // by the last step
  setup.on_step = [&](const StepRecord&) { failed = fake_cuda::call_failed(); };
  for (std::int64_t n = 1; n <= calls; n += stride) {
    fake_cuda::set({.order = fake_cuda::Order::Lazy, .check_races = false});
    fake_cuda::fail_call(n, sticky);
    failed = false;
    const std::string failure = failure_of(setup, right.trained);
    if (!fake_cuda::call_failed()) continue;
    INFO("call " << n << " of " << calls << ": " << failure);
    untold += failure.empty() && failed;
    told += failure.find("stage") != std::string::npos;
    fake_cuda::take_findings();
  }
  CHECK(told > 100);
  CHECK(untold ==
        0);  // except after the training, when all is given back and nobody is left to report to
}

TEST_CASE("a device without enough memory is reported with the stage, the bytes and the way out",
          "[cuda]") {
  fake_cuda::set({.device_bytes = std::size_t{1} << 20});
  const std::string failure = failure_of(two_stages("inline"), {});
  INFO(failure);
  CHECK(failure.find("stage 0") != std::string::npos);
  CHECK(failure.find("more bytes") != std::string::npos);
  CHECK(failure.find("are free") != std::string::npos);
  CHECK(failure.find("micro-batches") != std::string::npos);
  fake_cuda::take_findings();
}
