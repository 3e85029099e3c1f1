// Every failure is reported once; and devices, or algorithms, that cannot do what others can.
#include "backend/cuda/errors.hpp"

#include <string>

#include "backend/cuda/device_stream.hpp"
#include "base/error.hpp"
#include "catch.hpp"
#include "trained_on_fake.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

TrainingSetup setup_of(const std::string& model, const std::string& schedule) {
  return {.model = model,
          .config = make_config({.stages = 2,
                                 .microbatches = 4,
                                 .schedule = schedule,
                                 .workers = "inline",
                                 .backend = "cuda"}),
          .steps = 3};
}

template <class Work>
std::string error_of(Work work) {
  try {
    work();
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a failure that was reported is not reported again", "[cuda]") {
  fake_cuda::set({.device_bytes = std::size_t{1} << 20});
  cuda::DeviceStream stream(0);
  CHECK_THAT(error_of([&] { stream.allocate(std::size_t{2} << 20); }), Contains("more bytes"));
  CHECK(cudaPeekAtLastError() == cudaSuccess);

  fake_cuda::fail_call(2);  // after cudaSetDevice
  CHECK_THAT(error_of([&] { stream.finish(); }), Contains("CUDA cannot finish its work"));
  CHECK(cudaPeekAtLastError() == cudaSuccess);

  fake_cuda::fail_call(2);
  CHECK_THAT(error_of([&] { stream.allocate_results(8); }),
             Contains("pin 8 bytes of the host's memory") && !Contains("micro-batches"));
  CHECK(cudaPeekAtLastError() == cudaSuccess);

  int no_memory = 0;
  stream.release(&no_memory);  // not the device's memory
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  stream.release_results(&no_memory);
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  CHECK(fake_cuda::take_findings().size() == 1);  // that this was not its memory
}

TEST_CASE("nothing is left when memory cannot be cleared", "[cuda]") {
  fake_cuda::set({});
  cuda::DeviceStream stream(0);
  const std::size_t live = fake_cuda::live_allocations();
  const std::int64_t call = GENERATE(3, 4, 5, 6);  // after cudaSetDevice and cudaMalloc
  fake_cuda::fail_call(call);
  CHECK(error_of([&] { stream.allocate(100); }) != "");
  CHECK(fake_cuda::call_failed());
  CHECK(fake_cuda::live_allocations() == live);
  CHECK(cudaPeekAtLastError() == cudaSuccess);
}

TEST_CASE("a fence that only orders has no time", "[cuda]") {
  fake_cuda::set({});
  cuda::DeviceStream stream(0);
  const auto begin = stream.make_fence(), end = stream.make_fence();
  stream.record(*begin);
  stream.record(*end);
  end->wait();
  CHECK_THAT(error_of([&] { stream.seconds_between(*begin, *end); }), Contains("time between"));
  const auto timed_begin = stream.make_timed_fence(), timed_end = stream.make_timed_fence();
  stream.record(*timed_begin);
  stream.record(*timed_end);
  timed_end->wait();
  CHECK(stream.seconds_between(*timed_begin, *timed_end) >= 0);
}

TEST_CASE(
    "two devices that cannot reach each other train stages, but copies of a stage are refused",
    "[cuda]") {
  TrainingSetup setup = setup_of(mlp_model, "1f1b");
  const OnFake one = train_on_fake({.order = fake_cuda::Order::Lazy}, setup);
  setup.config.hardware.devices = {"cuda:0", "cuda:1"};
  for (const auto order :
       {fake_cuda::Order::Lazy, fake_cuda::Order::OthersFirst, fake_cuda::Order::Random}) {
    const OnFake two = train_on_fake({.order = order, .peers = false}, setup);
    CHECK(two.findings == std::vector<std::string>{});
    CHECK(same(two.trained, one.trained));
  }
  setup.config = setup_of(mlp_model, "data_parallel").config;
  setup.config.hardware.devices = {"cuda:0", "cuda:1"};
  CHECK_THAT(error_of([&] { train_on_fake({.peers = false}, setup); }),
             Contains("the copies of stage 0 are on cuda:0 and cuda:1, which cannot reach each "
                      "other's memory; name one of them twice in hardware.devices"));
  setup.config.hardware.devices = {"cuda:1", "cuda:1"};
  CHECK(train_on_fake({.peers = false}, setup).findings == std::vector<std::string>{});
}

TEST_CASE("if cuDNN refuses the listed algorithms, one that it advises is taken", "[cuda]") {
  const TrainingSetup setup = setup_of(residual_model, "1f1b");
  const OnFake right = train_on_fake({}, setup);
  for (const cudnnStatus_t refusal :
       {CUDNN_STATUS_NOT_SUPPORTED, CUDNN_STATUS_NOT_SUPPORTED_SHAPE, CUDNN_STATUS_BAD_PARAM}) {
    const OnFake other = train_on_fake({.cudnn_refusal = refusal}, setup);
    CHECK(other.findings == std::vector<std::string>{});
    CHECK(same(other.trained, right.trained));
  }
  const auto failure = [&](cudnnStatus_t refusal) {
    return error_of(
        [&] { train_on_fake({.cudnn_refusal = refusal, .cudnn_advises = false}, setup); });
  };
  CHECK_THAT(failure(CUDNN_STATUS_NOT_SUPPORTED_SHAPE),
             Contains("no deterministic algorithm") && Contains("(status 3002)"));
  CHECK_THAT(failure(CUDNN_STATUS_EXECUTION_FAILED),
             Contains("(status 5000): the fake was told to refuse it") &&
                 !Contains("no deterministic algorithm"));
}
