#include "transport/nccl_all_reduce.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/error.hpp"
#include "catch.hpp"
#include "fake_nccl.hpp"
#include "transport/channel.hpp"

using namespace pipetrain;

namespace {

constexpr int replicas = 3;

struct World {
  explicit World(unsigned seed = 1) : device(seed) {}
  fake::Device device;
  fake::Nccl nccl{device};
  fake::MemoryExchange ids;
};

// One process: a replica of a stage.
struct Replica {
  Replica(World& world, int number, std::vector<std::size_t> sizes, double seconds_max = 20)
      : number(number), compute(world.device.make_stream()), transfer(world.device.make_stream()) {
    NcclAllReduceOptions options{.calls = &world.nccl,
                                 .ids = &world.ids,
                                 .compute = compute.get(),
                                 .transfer = transfer.get(),
                                 .transfer_handle = transfer.get(),
                                 .stage = 1,
                                 .replica = number,
                                 .replicas = replicas,
                                 .buffers = {},
                                 .seconds_max = seconds_max};
    for (const std::size_t size : sizes) gradients.emplace_back(size);
    for (auto& g : gradients)
      options.buffers.push_back({g.data(), static_cast<std::int64_t>(g.size())});
    sums = std::make_unique<NcclAllReduce>(options);
  }

  float value(int minibatch, std::size_t i) const {
    return static_cast<float>((number + 1) * 10 + minibatch) + static_cast<float>(i) * 0.5f;
  }
  void minibatch(int k) {
    compute->run([this, k] {
      for (auto& g : gradients)
        for (std::size_t i = 0; i < g.size(); ++i) g[i] = value(k, i);
    });
    sums->begin();
    sums->finish();
    compute->run([this, k] {
      for (const auto& g : gradients)
        for (std::size_t i = 0; i < g.size(); ++i)
          wrong += g[i] != 60.0f + 3.0f * static_cast<float>(k) + 1.5f * static_cast<float>(i);
    });
  }

  const int number;
  std::unique_ptr<fake::FakeStream> compute, transfer;
  std::vector<std::vector<float>> gradients;
  std::unique_ptr<NcclAllReduce> sums;
  int wrong = 0;
};

template <class Run>
void on_each(int count, const Run& run) {
  std::vector<std::thread> threads;
  for (int r = 0; r < count; ++r) threads.emplace_back(run, r);
  for (auto& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("every replica has the sums, mini-batch after mini-batch", "[transport][nccl]") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    World world(seed);
    std::vector<std::unique_ptr<Replica>> all(replicas);
    on_each(replicas, [&](int r) {
      auto& mine = all[static_cast<std::size_t>(r)];
      mine = std::make_unique<Replica>(world, r, std::vector<std::size_t>{5, 1, 8});
      for (int k = 0; k < 4; ++k) mine->minibatch(k);
    });
    world.device.run_dry();
    for (const auto& replica : all) CHECK(replica->wrong == 0);
    for (auto& replica : all) replica->sums.reset();
    CHECK(world.nccl.aborted() == 0);
    CHECK(world.nccl.alive() == 0);
  }
}

TEST_CASE("replicas with other parameters, or in another order, are refused", "[transport][nccl]") {
  World world;
  std::atomic<int> refused = 0;
  on_each(replicas, [&](int r) {
    try {
      Replica(world, r, r == 2 ? std::vector<std::size_t>{1, 5} : std::vector<std::size_t>{5, 1});
    } catch (const DeviceError&) {
      ++refused;
    }
  });
  CHECK(refused == replicas);
}

TEST_CASE("a replica that does not come is given up on", "[transport][nccl]") {
  World world;
  CHECK_THROWS_AS(Replica(world, 0, {4}, 0.1), DeviceError);
}

TEST_CASE("a replica that hands nothing in is given up on", "[transport][nccl]") {
  World world;
  std::vector<std::string> said(replicas);
  std::atomic<int> failed = 0;
  on_each(replicas, [&](int r) {
    Replica mine(world, r, {4}, 0.5);
    while (r == 1 && failed < 2) std::this_thread::yield();
    if (r == 1) return;
    try {
      mine.minibatch(0);
    } catch (const DeviceError& error) {
      said[static_cast<std::size_t>(r)] = error.what();
    }
    ++failed;
  });
  CHECK(said[0].find("sum of stage 1's gradients over 3 replicas") != std::string::npos);
  CHECK(said[2].find("the limit is 0.5 s") != std::string::npos);
}

TEST_CASE("close ends a wait for the other replicas", "[transport][nccl]") {
  World world;
  std::atomic<int> closed = 0, at_once = 0;
  on_each(replicas, [&](int r) {
    Replica mine(world, r, {4});
    while (r == 1 && closed < 2) std::this_thread::yield();
    if (r == 1) return;
    mine.sums->begin();
    at_once += mine.sums->can_finish();
    mine.sums->close();
    try {
      mine.sums->finish();
    } catch (const ChannelClosed&) {
      ++closed;
    }
  });
  CHECK(at_once == 0);
  CHECK(closed == 2);
}

TEST_CASE("a communicator of sums is made on the device of its stream", "[transport][nccl]") {
  World world;
  std::vector<std::unique_ptr<Replica>> all(replicas);
  on_each(replicas, [&](int r) {
    world.device.make_stream()->make_fence();  // makes another stream's device current
    all[static_cast<std::size_t>(r)] =
        std::make_unique<Replica>(world, r, std::vector<std::size_t>{4});
  });
  CHECK(world.nccl.joined_on.size() == replicas);
  for (const auto& replica : all)
    CHECK(std::ranges::count(world.nccl.joined_on, replica->transfer.get()) == 1);
}

TEST_CASE("sums under way have ended once their object is gone", "[transport][nccl]") {
  World world;
  std::atomic<int> made = 0, under_way = 0;
  on_each(replicas, [&](int r) {
    Replica mine(world, r, {4});
    ++made;
    while (made < replicas) std::this_thread::yield();
    if (r == 1) return;  // it hands nothing in
    mine.sums->begin();
    mine.sums.reset();
    under_way += !mine.transfer->idle();
  });
  CHECK(under_way == 0);
  CHECK(world.nccl.aborted() == 2);
}

TEST_CASE("sums on a device that is gone end silently", "[transport][nccl]") {
  World world;
  std::vector<std::unique_ptr<Replica>> all(replicas);
  on_each(replicas, [&](int r) {
    all[static_cast<std::size_t>(r)] =
        std::make_unique<Replica>(world, r, std::vector<std::size_t>{4});
  });
  for (auto& replica : all) replica->sums->begin();
  world.device.gone = true;
  for (auto& replica : all) CHECK_NOTHROW(replica->sums.reset());
  CHECK(world.nccl.aborted() == replicas);
  CHECK(world.nccl.alive() == 0);
}
