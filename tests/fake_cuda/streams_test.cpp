// The order of streams and events: what is kept, what is adversarial, and which mistakes show.
#include <cmath>
#include <stdexcept>

#include "fake_cuda/test_device.hpp"
#include "fake_cuda/test_kernels.hpp"

using namespace fake_cuda_test;
using fake_cuda::Order;

namespace {

constexpr Order every_order[] = {Order::AtOnce, Order::Lazy, Order::Random, Order::OthersFirst};

// b reads what a writes.
float hand_over(bool waits) {
  const cudaStream_t a = make_stream(), b = make_stream();
  float *const x = make_floats(4), *const y = make_floats(4);
  write(a, x, {1, 2, 3, 4});
  affine(a, x, x, 10, 4);
  if (waits) order(a, b);
  REQUIRE(cudaMemcpyAsync(y, x, 16, cudaMemcpyDeviceToDevice, b) == cudaSuccess);
  return read(b, y, 4)[1];
}

}  // namespace

TEST_CASE("a stream that waits for another sees its work in every order", "[fake_cuda]") {
  for (const Order order : every_order)
    for (std::uint64_t seed = 1; seed < 10; ++seed) {
      fake_cuda::set({.order = order, .seed = seed});
      CHECK(hand_over(true) == 21);
      CHECK(findings() == "");
    }
}

TEST_CASE("a missing wait is found in every order, and shows when streams are lazy",
          "[fake_cuda]") {
  for (const Order order : every_order) {
    fake_cuda::set({.order = order});
    const float result = hand_over(false);
    CHECK_THAT(findings(), Contains("race"));
    if (order == Order::Lazy) CHECK(std::isnan(result));
  }
  fake_cuda::set({});
  fake_cuda::ignore_wait(1);
  CHECK(std::isnan(hand_over(true)));
  CHECK(findings() != "");
}

TEST_CASE("a wait is for the last record before it", "[fake_cuda]") {
  fake_cuda::set({});
  const cudaStream_t a = make_stream(), b = make_stream();
  const cudaEvent_t event = make_event();
  float* const x = make_floats(1);
  CHECK(cudaStreamWaitEvent(b, event, 0) == cudaSuccess);  // none: nothing to wait for
  write(a, x, {1});
  CHECK(cudaEventRecord(event, a) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(b, event, 0) == cudaSuccess);
  write(a, x, {2});
  CHECK(cudaEventRecord(event, a) == cudaSuccess);
  CHECK(read(b, x, 1)[0] == 1);                                      // the second write has not run
  CHECK_THAT(findings(), Contains("race") && Contains("reads it"));  // but might have
}

TEST_CASE("pinned memory is read when a copy runs, other memory when it is asked for",
          "[fake_cuda]") {
  fake_cuda::set({});
  const cudaStream_t stream = make_stream();
  float *const pinned = make_pinned(1), *const x = make_floats(1);
  std::vector<float> host = {1};
  *pinned = 1;
  write(stream, x, host);
  host[0] = 2;
  CHECK(read(stream, x, 1)[0] == 1);
  CHECK(cudaMemcpyAsync(x, pinned, 4, cudaMemcpyHostToDevice, stream) == cudaSuccess);
  *pinned = 2;  // too early
  CHECK(read(stream, x, 1)[0] == 2);
  CHECK(findings() == "");
}

#ifndef KERNELS_UNWATCHED
TEST_CASE("two streams that read one block race only with its next writer", "[fake_cuda]") {
  fake_cuda::set({});
  const cudaStream_t a = make_stream(), b = make_stream(), c = make_stream();
  float *const x = make_floats(2), *const y = make_floats(4);
  write(a, x, {1, 2});
  order(a, b);
  order(a, c);
  affine(b, x, y, 1, 2);
  affine(c, x, y + 2, 1, 2);
  order(b, a);
  CHECK(cudaStreamSynchronize(c) == cudaSuccess);
  CHECK(findings() == "");
  affine(a, y, x, 1, 1);  // after b's work, and by the host's wait after c's
  CHECK(cudaStreamSynchronize(a) == cudaSuccess);
  CHECK(findings() == "");
  affine(c, x + 1, y + 2, 1, 1);
  write(a, x, {1, 2});
  CHECK(cudaStreamSynchronize(c) == cudaSuccess);
  CHECK(cudaStreamSynchronize(a) == cudaSuccess);
  CHECK_THAT(findings(), Contains("race") && Contains("writes") && Contains("reads it"));
}
#endif

TEST_CASE("polling succeeds in the end, and events measure time", "[fake_cuda]") {
  fake_cuda::set({});
  const cudaStream_t stream = make_stream();
  const cudaEvent_t begin = make_event(cudaEventDefault), end = make_event(cudaEventDefault);
  float* const x = make_floats(1);
  CHECK(cudaEventRecord(begin, stream) == cudaSuccess);
  for (int i = 0; i < 10; ++i) write(stream, x, {1});
  CHECK(cudaEventRecord(end, stream) == cudaSuccess);
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, begin, end) == cudaErrorNotReady);
  int polls = 1;
  while (cudaEventQuery(end) == cudaErrorNotReady) ++polls;
  CHECK(polls > 1);
  CHECK(cudaGetLastError() == cudaErrorNotReady);  // as in CUDA, so that the next check sees it
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaEventElapsedTime(&ms, begin, end) == cudaSuccess);
  CHECK(ms > 0);
  CHECK(fake_cuda::host_waits() == 1);  // the allocation
}

TEST_CASE("a deadlock is reported with what the streams wait for", "[fake_cuda]") {
  fake_cuda::set({.deadlock_seconds = 0.01});
  const cudaStream_t stream = make_stream();
  CHECK(fake_cuda::enqueue_when(
      stream, "receive", [] { return false; }, [] {}));
  CHECK_THROWS_WITH(cudaStreamSynchronize(stream), Contains("deadlock") && Contains("[receive]"));
}

TEST_CASE("two streams that meet both continue", "[fake_cuda]") {
  for (const Order order : every_order) {
    fake_cuda::set({.order = order});
    const cudaStream_t a = make_stream(), b = make_stream();
    const cudaEvent_t sent = make_event();
    const auto passed = [&] { return cudaEventQuery(sent) == cudaSuccess; };
    bool arrived = false, received = false;
    CHECK(fake_cuda::enqueue(b, "arrive", [&] { arrived = true; }));
    CHECK(fake_cuda::enqueue_when(
        a, "send", [&] { return arrived; }, [&] { received = true; }));
    CHECK(cudaEventRecord(sent, a) == cudaSuccess);
    for (int i = 0; i < 100 && !passed(); ++i)
      if (order == Order::Lazy) CHECK(cudaStreamSynchronize(b) == cudaSuccess);
    CHECK(received);
  }
}
