// Work shared out among threads: each piece once, the first failure as if there were one thread.
#include "data/reading_threads.hpp"

#include "catch.hpp"
#include "data_files.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

TEST_CASE("reading threads: every number once, in any number of runs", "[loader]") {
  for (const int threads : {1, 2, 5}) {
    ReadingThreads readers(threads);
    const std::atomic<bool> stop = false;
    for (const std::size_t count : {0u, 1u, 3u, 100u}) {
      std::vector<std::atomic<int>> reads(count);
      CHECK(readers.run(count, stop, [&](std::size_t i) { ++reads[i]; }));
      for (const std::atomic<int>& times : reads) CHECK(times == 1);
    }
  }
}

TEST_CASE("reading threads: the smallest number that fails is reported, and the next run succeeds",
          "[loader]") {
  for (const int threads : {1, 2, 5}) {
    ReadingThreads readers(threads);
    const std::atomic<bool> stop = false;
    for (int repeated = 0; repeated < 20; ++repeated) {
      const std::string message = message_of<DataError>([&] {
        readers.run(40, stop, [&](std::size_t i) {
          if (i == 7) std::this_thread::yield();
          if (i >= 7) throw DataError("number " + std::to_string(i));
        });
      });
      CHECK(message == "number 7");
      std::atomic<int> reads = 0;
      CHECK(readers.run(40, stop, [&](std::size_t) { ++reads; }));
      CHECK(reads == 40);
    }
  }
}

TEST_CASE("reading threads: nothing begins once they are to stop", "[loader]") {
  ReadingThreads readers(3);
  std::atomic<bool> stop = false;
  std::atomic<int> reads = 0;
  CHECK_FALSE(readers.run(1000, stop, [&](std::size_t) {
    ++reads;
    stop = true;
  }));
  CHECK(reads <= 3);
}
