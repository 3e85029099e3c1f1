// Where stages meet: the whole model's norm, and one record for each mini-batch.
#include "runtime/step_board.hpp"

#include <atomic>
#include <thread>

#include "catch.hpp"
#include "transport/channel.hpp"

using namespace pipetrain;

TEST_CASE("the total waits for every stage and sums in parameter order", "[step board]") {
  StepBoard board({.stages = 2, .parameters = 3});
  CHECK_FALSE(board.has_total(0));
  board.deposit(0, 2, std::vector<double>{4.0});
  CHECK_FALSE(board.has_total(0));
  board.deposit(0, 0, std::vector<double>{1.0, 2.0});
  CHECK(board.has_total(0));
  CHECK(board.total(0) == 7.0);
}

TEST_CASE("the total does not depend on which stage came first", "[step board]") {
  // 1e16 + 1 + 1 is another number than 1 + 1 + 1e16.
  const std::vector<double> big{1e16}, ones{1.0, 1.0};
  StepBoard a({.stages = 2, .parameters = 3}), b({.stages = 2, .parameters = 3});
  a.deposit(0, 0, big);
  a.deposit(0, 1, ones);
  b.deposit(0, 1, ones);
  b.deposit(0, 0, big);
  CHECK(a.total(0) == b.total(0));
}

TEST_CASE("a stage without parameters deposits too", "[step board]") {
  StepBoard board({.stages = 2, .parameters = 1});
  board.deposit(0, 0, std::vector<double>{9.0});
  CHECK_FALSE(board.has_total(0));
  board.deposit(0, 1, {});
  CHECK(board.total(0) == 9.0);
}

TEST_CASE("a record is whole when every stage has finished", "[step board]") {
  StepBoard board({.stages = 2, .parameters = 2, .first_step = 5});
  board.deposit(5, 0, std::vector<double>{9.0});
  board.deposit(5, 1, std::vector<double>{16.0});
  StageStep last;
  last.samples = 64;
  last.loss = {2.5, 7};
  board.finish(5, {1}, 0, 0.1, last);
  CHECK(board.try_next() == nullptr);
  StageStep first;
  first.busy_seconds = 3;
  board.finish(5, {0}, 0, 0.1, first);
  const StepRecord* const record = board.try_next();
  REQUIRE(record != nullptr);
  CHECK(record == board.next());
  CHECK(record->step == 5);
  CHECK(record->lr == 0.1);
  CHECK(record->squared_norm() == 25.0);
  CHECK(record->stages[0].busy_seconds == 3);
  CHECK(record->stages[1].samples == 64);
  CHECK(record->stages[1].loss.correct == 7);
  board.pop();
  CHECK(board.try_next() == nullptr);
}

TEST_CASE("a stage's copies are summed in their order, whichever came first", "[step board]") {
  StepBoard board({.stages = 1, .copies = {3}, .parameters = 1});
  const auto part = [](double loss) {
    StageStep step;
    step.busy_seconds = 1;
    step.loss = {loss, 1};
    step.samples = 2;
    return step;
  };
  board.deposit(0, 0, std::vector<double>{4.0});  // one for all copies
  board.finish(0, {0}, 2, 0.1, part(-1e16));
  board.finish(0, {0}, 0, 0.1, part(1e16));
  CHECK(board.try_next() == nullptr);
  board.finish(0, {0}, 1, 0.1, part(1));
  REQUIRE(board.try_next() != nullptr);
  const StageStep& all = board.next()->stages[0];
  CHECK(all.copies == 3);
  CHECK(all.busy_seconds == 3);
  CHECK(all.loss.sum == 0);  // (1e16 + 1) - 1e16
  CHECK(all.loss.correct == 3);
  CHECK(all.samples == 6);
}

TEST_CASE("records come in order, also when a stage is ahead", "[step board]") {
  StepBoard board({.stages = 2, .parameters = 0, .capacity = 4});
  for (int step = 0; step < 3; ++step) {
    board.deposit(step, 0, {});
    board.finish(step, {0}, 0, 0, {});
  }
  CHECK(board.try_next() == nullptr);
  for (int step = 0; step < 3; ++step) {
    board.deposit(step, 0, {});
    board.finish(step, {1}, 0, 0, {});
    REQUIRE(board.try_next() != nullptr);
    CHECK(board.next()->step == step);
    board.pop();
  }
}

TEST_CASE("a place is used again once its record is reported", "[step board]") {
  StepBoard board({.stages = 1, .parameters = 1, .capacity = 2});
  for (int step = 0; step < 2; ++step) {
    CHECK(board.can_deposit(step));
    board.deposit(step, 0, std::vector<double>{1.0 + step});
    board.finish(step, {0}, 0, 0, {});
  }
  CHECK_FALSE(board.can_deposit(2));
  board.pop();
  CHECK(board.can_deposit(2));
  CHECK_FALSE(board.can_deposit(3));
  CHECK_FALSE(board.has_total(2));  // nothing is left of the step whose place it takes
  board.deposit(2, 0, std::vector<double>{5.0});
  CHECK(board.total(2) == 5.0);
  CHECK(board.total(1) == 2.0);
}

TEST_CASE("a stage that is too far ahead waits for the reporter", "[step board]") {
  StepBoard board({.stages = 1, .parameters = 0, .capacity = 1});
  constexpr int steps = 2000;
  std::thread stage([&] {
    for (int step = 0; step < steps; ++step) {
      board.deposit(step, 0, {});
      board.finish(step, {0}, 0, step, {});
    }
  });
  int wrong = 0;
  for (int step = 0; step < steps; ++step) {
    const StepRecord* const record = board.next();
    wrong += record->step != step || record->lr != step;
    board.pop();
  }
  stage.join();
  CHECK(wrong == 0);
}

TEST_CASE("close wakes every waiting thread, and from then on all that would wait throws",
          "[step board]") {
  StepBoard board({.stages = 2, .parameters = 0, .capacity = 1});
  board.deposit(0, 0, {});
  std::atomic<int> waiting = 0, closed = 0;
  const auto start = [&](auto call) {
    return std::thread([&, call] {
      ++waiting;
      try {
        call();
      } catch (const ChannelClosed&) {
        ++closed;
      }
    });
  };
  std::thread for_total = start([&] { board.total(0); });
  std::thread for_record = start([&] { board.next(); });
  std::thread for_place = start([&] { board.deposit(1, 0, {}); });
  while (waiting < 3) std::this_thread::yield();
  board.close();
  board.close();
  for_total.join();
  for_record.join();
  for_place.join();
  CHECK(closed == 3);
  CHECK_THROWS_AS(board.finish(0, {0}, 0, 0, {}), ChannelClosed);
  CHECK(board.can_deposit(1));  // none of them would wait: they throw
  CHECK(board.has_total(0));
}

TEST_CASE("after a drain no mini-batch begins that no worker has begun", "[step board]") {
  std::atomic<bool> drain = false;
  StepBoard board({.stages = 2, .first_step = 10, .end = 20, .drain = &drain});
  CHECK(board.begin(10, 1));
  CHECK(board.begin(11, 1));
  drain = true;
  CHECK(board.begin(10, 1));  // the other worker: what one began, all must begin
  CHECK(board.begin(11, 1));
  CHECK_FALSE(board.begin(12, 1));
  CHECK(board.end() == 12);
  drain = false;
  CHECK_FALSE(board.begin(12, 1));
}

TEST_CASE("the reporter is woken by the end", "[step board]") {
  std::atomic<bool> drain = false;
  StepBoard board({.stages = 1, .end = 5, .drain = &drain});
  CHECK(board.begin(0, 1));
  bool got_one = false, got_the_end = false;  // Catch's checks are of one thread at a time
  std::thread reporter([&] {
    got_one = board.next() != nullptr;
    board.pop();
    got_the_end = board.next() == nullptr;
  });
  board.deposit(0, 0, {});
  board.finish(0, {0}, 0, 0.1, {});
  drain = true;
  const bool begins = board.begin(1, 1);
  reporter.join();
  CHECK_FALSE(begins);
  CHECK(got_one);
  CHECK(got_the_end);
}

TEST_CASE("a copy that deposits nothing is not given the total of an older step", "[step board]") {
  StepBoard board({.stages = 1, .copies = {2}, .parameters = 1, .capacity = 2});
  for (int step = 0; step < 2; ++step) {
    board.deposit(step, 0, std::vector<double>{1.0 + step});
    for (int copy = 0; copy < 2; ++copy) board.finish(step, {0}, copy, 0, {});
  }
  CHECK_FALSE(board.has_total(2));  // its place is still that of step 0, which has not been read
  board.pop();
  CHECK_FALSE(board.has_total(2));
  board.deposit(2, 0, std::vector<double>{7.0});
  CHECK(board.total(2) == 7.0);
}
