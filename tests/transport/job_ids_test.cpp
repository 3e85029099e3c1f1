#include "transport/job_ids.hpp"

#include <future>

#include "catch.hpp"
#include "fake_wire.hpp"
#include "transport/channel.hpp"

using namespace pipetrain;
using testing::FakeNetwork;

namespace {

std::vector<std::byte> id(int value) { return std::vector(128, static_cast<std::byte>(value)); }

struct ThreeRanks {
  FakeNetwork network{3};
  Job first{network.wire(0)}, second{network.wire(1)}, third{network.wire(2)};
};

}  // namespace

TEST_CASE("the ranks of a job take the ids that one of them gives, before or after it does") {
  ThreeRanks ranks;
  const auto a = make_job_ids(ranks.first), b = make_job_ids(ranks.second),
             c = make_job_ids(ranks.third);
  auto waits = std::async(std::launch::async, [&] { return b->take("stage0"); });
  a->give("cut1", id(1));
  a->give("stage0", id(2));
  CHECK(waits.get() == id(2));
  CHECK(c->take("stage0") == id(2));
  CHECK(c->take("cut1") == id(1));
  CHECK(b->take("cut1") == id(1));
  c->give("cut1", id(3));  // of the next communicator of that name
  CHECK(b->take("cut1") == id(3));
}

TEST_CASE("a rank that waits for an id of a job that fails is woken") {
  ThreeRanks ranks;
  const auto ids = make_job_ids(ranks.second);
  auto waits = std::async(std::launch::async, [&] { return ids->take("cut0"); });
  ranks.first.fail(DeviceError("no device"));
  CHECK_THROWS_AS(waits.get(), ChannelClosed);
}
