#include "transport/job.hpp"

#include <atomic>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "catch.hpp"
#include "fake_wire.hpp"
#include "transport/channel.hpp"

using namespace pipetrain;
using testing::FakeNetwork;

namespace {

Note note_from(int first, std::size_t bytes) {
  Note note(bytes);
  for (std::size_t i = 0; i < bytes; ++i) note[i] = static_cast<std::byte>((first + i) % 251);
  return note;
}

struct TwoRanks {
  FakeNetwork network{2};
  Job leader{network.wire(0)}, other{network.wire(1)};
};

void wait_for_failure(const Job& job) {
  while (!job.failure()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

TEST_CASE("notes of any size arrive whole and in the order of their sender") {
  TwoRanks ranks;
  const std::size_t sizes[] = {0, 1, 16, (64 << 10) - 16, 64 << 10, 1'000'003};
  for (const std::size_t bytes : sizes)
    ranks.leader.notes().send(1, Topic::Tensors, note_from(static_cast<int>(bytes % 7), bytes));
  for (const std::size_t bytes : sizes)
    CHECK(ranks.other.notes().take(Topic::Tensors, 0) ==
          note_from(static_cast<int>(bytes % 7), bytes));
}

TEST_CASE("a topic's handler gets what came before it listened, and other topics are left alone") {
  TwoRanks ranks;
  ranks.leader.notes().send(1, Topic::Sum, note_from(1, 8));
  ranks.leader.notes().send(1, Topic::Board, note_from(2, 8));
  ranks.leader.notes().send(1, Topic::Board, note_from(3, 8));
  CHECK(ranks.other.notes().take(Topic::Sum, 0) == note_from(1, 8));
  std::atomic<int> heard = 0;
  std::atomic<bool> right = true;
  ranks.other.notes().listen(Topic::Board, [&](int from, std::span<const std::byte> note) {
    right = right && from == 0 && note[0] == static_cast<std::byte>(2 + heard);
    ++heard;
  });
  while (heard < 2) std::this_thread::yield();
  CHECK(right);
  ranks.other.notes().listen(Topic::Board, nullptr);
}

TEST_CASE("a rank that fails ends the others, which name it, and wakes a wait for it") {
  TwoRanks ranks;
  std::atomic<bool> woken = false;
  ranks.leader.on_failure([&] { woken = true; });
  std::thread other([&] { ranks.other.fail(DataError("stage 1: a file is damaged")); });
  CHECK_THROWS_AS(ranks.leader.notes().take(Topic::Sum, 1), ChannelClosed);
  wait_for_failure(ranks.leader);
  ranks.leader.fail(ChannelClosed());
  other.join();
  CHECK(woken);
  CHECK(ranks.leader.failure()->rank == 1);
  CHECK(ranks.leader.failure()->code == ExitCode::Data);
  CHECK(ranks.leader.failure()->message == "rank 1: stage 1: a file is damaged");
  CHECK(ranks.other.failure()->message == "stage 1: a file is damaged");
  CHECK(ranks.other.leader_knows());
  CHECK_FALSE(ranks.other.failure()->silent);
  CHECK(ranks.other.finished());
}

TEST_CASE("what failed first is thrown, by whichever thread and rank it was met") {
  TwoRanks ranks;
  ranks.leader.report(DeviceError("MPI_Issend failed"));  // on another thread than the caller's
  wait_for_failure(ranks.other);
  for (Job* job : {&ranks.leader, &ranks.other}) try {
      throw ChannelClosed();
    } catch (const std::exception& error) {
      CHECK_THROWS_WITH(job->rethrow(error), Contains("MPI_Issend failed"));
    }
  ranks.leader.fail(ChannelClosed());
  ranks.other.fail(ChannelClosed());
}

TEST_CASE("a failure does not wait behind notes that nobody needs any more") {
  TwoRanks ranks;
  constexpr int count = 100;
  std::atomic<int> heard = 0;
  ranks.other.notes().listen(Topic::Copies, [&](int, std::span<const std::byte>) { ++heard; });
  std::vector<Note> gradients(count, note_from(1, 1 << 20));
  for (Note& note : gradients) ranks.leader.notes().send(1, Topic::Copies, std::move(note));
  ranks.leader.report(DataError("a file is damaged"));
  wait_for_failure(ranks.other);
  ranks.leader.fail(ChannelClosed());
  ranks.other.fail(ChannelClosed());
  CHECK(heard < count);
  ranks.other.notes().listen(Topic::Copies, nullptr);
}

TEST_CASE("a bug keeps its exit code on the way to other ranks") {
  TwoRanks ranks;
  ranks.other.report(InternalError("a bug in pipetrain"));
  wait_for_failure(ranks.leader);
  CHECK(static_cast<int>(ranks.leader.failure()->code) == 70);
  ranks.leader.fail(ChannelClosed());
  ranks.other.fail(ChannelClosed());
}

TEST_CASE("a rank that is not heard from ends the job, both ways, and the end does not wait") {
  TwoRanks ranks;
  ranks.leader.set_peer_timeout(0.2);
  ranks.other.set_peer_timeout(0.2);
  ranks.network.cut_off(1);
  wait_for_failure(ranks.leader);
  wait_for_failure(ranks.other);
  CHECK(ranks.leader.failure()->rank == 1);
  CHECK(ranks.other.failure()->rank == 0);
  CHECK(ranks.leader.failure()->code == ExitCode::Device);
  CHECK(ranks.leader.failure()->message.find("rank 1 has not been heard of for 0.2 s") == 0);
  ranks.leader.fail(ChannelClosed());
  ranks.other.fail(ChannelClosed());
}

TEST_CASE("ranks that are left when one is silent know it, and that they did not end together") {
  FakeNetwork network{3};
  Job leader{network.wire(0)}, other{network.wire(1)}, silent{network.wire(2)};
  for (Job* const job : {&leader, &other, &silent}) job->set_peer_timeout(0.5);
  network.cut_off(2);
  wait_for_failure(leader);
  wait_for_failure(other);
  CHECK(leader.failure()->silent);
  CHECK(other.failure()->silent);
  CHECK(other.failure()->rank == 2);
  std::thread follower([&] { other.fail(ChannelClosed()); });
  leader.fail(ChannelClosed());
  follower.join();
  CHECK(other.leader_knows());
  CHECK_FALSE(leader.finished());
  CHECK_FALSE(other.finished());
}

TEST_CASE("a rank that has nothing to say is still heard from") {
  TwoRanks ranks;
  ranks.leader.set_peer_timeout(0.2);
  ranks.other.set_peer_timeout(0.2);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  CHECK_FALSE(ranks.leader.failure());
  CHECK_FALSE(ranks.other.failure());
}

TEST_CASE("the end of a job is an empty command") {
  TwoRanks ranks;
  std::thread leader([&] { ranks.leader.finish(); });
  CHECK(ranks.other.notes().take(Topic::Command, 0).empty());
  ranks.other.notes().send(0, Topic::Sum, note_from(1, 16));  // which nobody takes any more
  ranks.other.set_peer_timeout(3600);                         // what a wait for that would take
  ranks.other.finish();
  leader.join();
  CHECK(ranks.other.finished());
  CHECK(ranks.leader.finished());
}

TEST_CASE("a rank that takes its time at the end is waited for, as long as it is heard from") {
  FakeNetwork network{3};
  Job leader{network.wire(0)}, quick{network.wire(1)}, slow{network.wire(2)};
  std::atomic<int> ended = 0;
  std::vector<std::thread> threads;
  for (Job* const job : {&leader, &quick, &slow}) {
    job->set_peer_timeout(0.4);
    if (job != &slow)
      threads.emplace_back([&ended, job] {
        job->finish();
        ++ended;
      });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  CHECK(ended == 0);
  slow.finish();
  for (std::thread& thread : threads) thread.join();
  for (const Job* const job : {&leader, &quick, &slow}) {
    CHECK(job->finished());
    CHECK_FALSE(job->failure());
  }
}

TEST_CASE("a rank that falls silent at the end is named by those that wait for it") {
  TwoRanks ranks;
  ranks.leader.set_peer_timeout(0.2);
  ranks.other.set_peer_timeout(0.2);
  ranks.network.cut_off(1);
  CHECK_THROWS_WITH(ranks.leader.finish(), Contains("rank 1 has not been heard of"));
  wait_for_failure(ranks.other);
  ranks.leader.fail(ChannelClosed());
  ranks.other.fail(ChannelClosed());
}

TEST_CASE("a wire that does not end is left alone, and its job still answers") {
  // The wire's thread outlives the test, and so must its network.
  static FakeNetwork* const network = new FakeNetwork{2};
  network->never_finish(0);
  Job leader{network->wire(0), 0.1}, other{network->wire(1)};
  leader.set_peer_timeout(1);
  std::thread follower([&] { other.finish(); });
  leader.finish();
  follower.join();
  CHECK_FALSE(leader.finished());
  CHECK(leader.leads());
  CHECK(leader.size() == 2);
  leader.notes().listen(Topic::Board, nullptr);
  CHECK(other.finished());
}

TEST_CASE("making a job throws if its wire cannot be made") {
  CHECK_THROWS_AS(Job([]() -> std::unique_ptr<RankWire> { throw DeviceError("no network"); }),
                  DeviceError);
}
