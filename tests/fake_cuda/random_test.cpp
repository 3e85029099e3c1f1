// Random programs of several streams: with all their waits they give the same bits in every order
// and no finding; with a wait left out, whatever shows in the results is found as a race too.
#include <cstring>
#include <random>

#include "fake_cuda/test_device.hpp"

using namespace fake_cuda_test;
using fake_cuda::Order;

namespace {

constexpr int streams = 3, blocks = 4, steps = 40, floats = 8;

struct Step {
  int stream = 0, from = 0, to = 0;
};

std::vector<Step> random_program(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Step> program(steps);
  for (Step& step : program) {
    step.stream = static_cast<int>(random() % streams);
    step.from = static_cast<int>(random() % blocks);
    step.to = static_cast<int>((step.from + 1 + random() % (blocks - 1)) % blocks);
  }
  return program;
}

// to = 2 * from + to, as a kernel that itself declares what it touches.
void add(cudaStream_t stream, const float* from, float* to) {
  CHECK(fake_cuda::enqueue(stream, "add", [=] {
    fake_cuda::reads(from, floats * sizeof(float));
    fake_cuda::reads(to, floats * sizeof(float));
    fake_cuda::writes(to, floats * sizeof(float));
    for (int i = 0; i < floats; ++i) to[i] = 2 * from[i] + 0.5f * to[i];
  }));
}

// A step waits for the last writer of what it reads, and for all users of what it writes.
class Runner {
 public:
  Runner() {
    for (auto& stream : streams_) stream = make_stream();
    for (auto& block : blocks_) block = make_floats(floats);
    for (int i = 0; i < blocks; ++i)
      write(streams_[0], blocks_[i], std::vector<float>(floats, static_cast<float>(i)));
    for (auto& last : last_writer_) last = 0;
    CHECK(cudaStreamSynchronize(streams_[0]) == cudaSuccess);
  }

  void run(const Step& step) {
    for (int other = 0; other < streams; ++other)
      if (other != step.stream && depends(other, step))
        order(streams_[other], streams_[step.stream]);
    add(streams_[step.stream], blocks_[step.from], blocks_[step.to]);
    last_writer_[step.to] = step.stream;
    for (int other = 0; other < streams; ++other) reads_[other][step.to] = false;
    reads_[step.stream][step.from] = true;
  }

  std::vector<float> results() {
    std::vector<float> all;
    for (const auto stream : streams_) CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    for (const float* block : blocks_)
      for (const float value : read(streams_[0], block, floats)) all.push_back(value);
    return all;
  }

 private:
  bool depends(int other, const Step& step) const {
    return last_writer_[step.from] == other || last_writer_[step.to] == other ||
           reads_[other][step.to];
  }

  cudaStream_t streams_[streams];
  float* blocks_[blocks];
  int last_writer_[blocks];
  bool reads_[streams][blocks] = {};
};

std::vector<float> run(std::uint64_t seed, const fake_cuda::Options& options, int ignored_wait) {
  fake_cuda::set(options);
  Runner runner;
  if (ignored_wait) fake_cuda::ignore_wait(ignored_wait);
  for (const Step& step : random_program(seed)) runner.run(step);
  return runner.results();
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("random programs give the same bits in every order", "[fake_cuda]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const auto expected = run(seed, {.order = Order::AtOnce}, 0);
    for (const Order order : {Order::Lazy, Order::Random, Order::OthersFirst})
      CHECK(same_bits(run(seed, {.order = order, .seed = seed}, 0), expected));
    CHECK(findings() == "");
  }
}

TEST_CASE("whatever a left-out wait changes is found, in whichever order it ran", "[fake_cuda]") {
  int changed = 0, hidden = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const auto expected = run(seed, {.order = Order::AtOnce}, 0);
    const auto in_order = [&](Order order, int wait) {
      const bool same = same_bits(run(seed, {.order = order, .seed = seed}, wait), expected);
      return std::pair(same, findings() != "");
    };
    for (const int wait : {1, 5, 9, 14}) {
      const auto at_once = in_order(Order::AtOnce, wait);
      CHECK(at_once.first);  // luck: the order was still right
      for (const Order order : {Order::Lazy, Order::Random, Order::OthersFirst}) {
        const auto [same, found] = in_order(order, wait);
        CHECK(found == at_once.second);  // the check does not depend on luck
        if (!same) CHECK(found);
        changed += !same;
        hidden += same && found;
      }
    }
  }
  CHECK(changed > 10);
  CHECK(hidden > 0);
}
