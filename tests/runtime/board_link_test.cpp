// Step boards of several ranks.
#include "runtime/board_link.hpp"

#include <atomic>
#include <cstdint>

#include "../transport/fake_wire.hpp"
#include "catch.hpp"

using namespace pipetrain;
using testing::FakeNetwork;

namespace {

// A rank's board, of two stages whose copies are on both ranks.
struct Board {
  Board(FakeNetwork& network, int rank, const StepBoard::Options& options)
      : job(network.wire(rank)), link(job), board(with_link(options)) {
    link.begin(board);
  }
  ~Board() { link.end(); }
  StepBoard::Options with_link(StepBoard::Options options) {
    options.link = &link;
    return options;
  }
  int steps_over() {  // takes them
    int steps = 0;
    for (; board.try_next(); ++steps) board.pop();
    return steps;
  }

  Job job;
  BoardLink link;
  StepBoard board;
};

}  // namespace

// Copies that take mini-batches in turn: rank 1 has every third mini-batch of stage 0, and nothing
// of the others.
TEST_CASE("a rank is done with a step that has no part there", "[step board]") {
  FakeNetwork network(2);
  const StepBoard::Options options{
      .stages = 2, .end = 7, .parts_here = [](std::int64_t step) { return step % 3 == 2 ? 1 : 0; }};
  Board leader(network, 0, options), other(network, 1, options);
  other.board.finish(2, {0}, 0, 0.1, {});  // before anybody has looked at steps 0 and 1
  CHECK(other.steps_over() == 5);
  other.board.finish(5, {0}, 0, 0.1, {});
  CHECK(other.steps_over() == 2);
  CHECK(other.board.next() == nullptr);

  // The leader has a whole record of each.
  for (std::int64_t step = 0; step < 7; ++step) {
    if (step % 3 != 2) leader.board.finish(step, {0}, 0, 0.1, {});
    CHECK(leader.board.try_next() == nullptr);
    leader.board.finish(step, {1}, 0, 0.1, {});
    const StepRecord* const record = leader.board.next();
    REQUIRE(record != nullptr);
    CHECK(record->step == step);
    leader.board.pop();
  }
}

TEST_CASE(
    "a drain ends soon after it is asked for, also where mini-batches begin a hundred at once",
    "[step board]") {
  for (const std::int64_t count : {1, 3, 100}) {
    FakeNetwork network(2);
    const std::atomic<bool> never = false;
    std::atomic<bool> drain = false;
    Board leader(network, 0, {.stages = 2, .drain = &drain}),
        other(network, 1, {.stages = 2, .drain = &never});
    std::int64_t step = 0;
    for (int times = 0; times < 3; ++times, step += count) {
      REQUIRE(leader.board.begin(step, count));
      REQUIRE(other.board.begin(step, count));
    }
    drain = true;
    std::int64_t more = 0;
    for (; leader.board.begin(step, count); step += count) {
      REQUIRE(other.board.begin(step, count));  // both end at the same one
      more += count;
    }
    CHECK_FALSE(other.board.begin(step, count));
    CHECK(leader.board.end() == step);
    CHECK(other.board.end() == step);
    CHECK(more <= 8);
  }
}
