#include "data/loader.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/check.hpp"
#include "catch.hpp"
#include "data_files.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

// Sample i is {i, -i} of class i % 3, or of value {i / 2}; reading `fails_at` throws.
class Counting final : public Dataset {
 public:
  explicit Counting(std::int64_t size, int classes = 3) : size_(size), classes_(classes) {}
  std::int64_t size() const override { return size_; }
  const Shape& input_shape() const override { return shape_; }
  int classes() const override { return classes_; }
  const Shape& target_shape() const override { return target_; }
  void read(const SampleRequest& which, const Sample& to) const override {
    const std::int64_t index = which.index;
    ++reads;
    if (index == fails_at) throw DataError("sample " + std::to_string(index) + " is damaged");
    const auto value = static_cast<float>(index);
    if (to.input) to.input[0] = value;
    if (to.input) to.input[1] = -value;
    if (to.classes) *to.classes = static_cast<std::int32_t>(index % 3);
    if (to.values) *to.values = value / 2;
  }
  std::int64_t fails_at = -1;
  mutable std::atomic<int> reads = 0;

 private:
  std::int64_t size_;
  int classes_;
  Shape shape_{{2}}, target_{{1}};
};

const LoaderOptions in_file_order = {.order = {.batch_size = 4, .shuffle = false}};

MiniBatch take(Loader& loader, std::int64_t step) {
  MiniBatch copy = loader.get(step);
  loader.release(step);
  return copy;
}

}  // namespace

TEST_CASE("loader: inputs, classes and ids are of the same samples", "[loader]") {
  const Counting data(10);
  Loader loader(data, in_file_order, 1);
  CHECK(loader.steps_per_epoch() == 2);
  const MiniBatch second = take(loader, 0).step == 0 ? take(loader, 1) : MiniBatch{};
  CHECK(second.step == 1);
  CHECK(second.samples == 4);
  CHECK(second.inputs == AlignedVector<float>{4, -4, 5, -5, 6, -6, 7, -7});
  CHECK(second.classes == std::vector<std::int32_t>{1, 2, 0, 1});
  LoaderOptions no_inputs = in_file_order;
  no_inputs.inputs = false;
  Loader labels(data, no_inputs, 1);
  take(labels, 0);
  const MiniBatch same = take(labels, 1);
  CHECK(same.inputs.empty());
  CHECK(same.classes == second.classes);
  CHECK(same.ids == second.ids);
  CHECK(second.ids == std::vector<SampleId>{4, 5, 6, 7});
  CHECK(second.values.empty());
  CHECK(take(loader, 2).ids == std::vector<SampleId>{0, 1, 2, 3});
}

TEST_CASE("loader: float targets", "[loader]") {
  const Counting data(4, 0);
  Loader loader(data, in_file_order, 1);
  const MiniBatch batch = take(loader, 0);
  CHECK(batch.values == std::vector<float>{0, 0.5f, 1, 1.5f});
  CHECK(batch.classes.empty());
}

TEST_CASE("loader: without drop_last the last mini-batch of each epoch is smaller", "[loader]") {
  const Counting data(10);
  LoaderOptions options = in_file_order;
  options.order.drop_last = false;
  Loader loader(data, options, 1);
  CHECK(loader.steps_per_epoch() == 3);
  for (std::int64_t step = 0; step < 9; ++step) {
    const MiniBatch batch = take(loader, step);
    const std::size_t samples = step % 3 == 2 ? 2 : 4;
    CHECK(batch.samples == static_cast<int>(samples));
    CHECK(batch.inputs.size() == 2 * samples);
    CHECK(batch.ids.size() == samples);
    CHECK(batch.classes.size() == samples);
  }
}

TEST_CASE("loader: one pass reads each sample once and ends", "[loader]") {
  const Counting data(10);
  Loader loader(
      data, {.order = {.batch_size = 4, .shuffle = false, .drop_last = false}, .repeat = false}, 1);
  for (std::int64_t step = 0; step < 3; ++step) take(loader, step);
  CHECK(data.reads == 10);
  CHECK(contains(message_of<InternalError>([&] { loader.get(3); }), "makes 0 to 2"));
}

TEST_CASE("loader: beginning in the middle equals a run from 0, without replaying reads",
          "[loader]") {
  const Counting data(23), later(23);
  LoaderOptions options = {.order = {.batch_size = 5, .drop_last = false, .seed = 4}, .depth = 2};
  Loader whole(data, options, 1);
  options.first_step = 7;
  {
    Loader rest(later, options, 1);
    for (std::int64_t step = 0; step < 7; ++step) take(whole, step);
    for (std::int64_t step = 7; step < 20; ++step) {
      const MiniBatch a = take(whole, step), b = take(rest, step);
      CHECK(a.ids == b.ids);
      CHECK(a.inputs == b.inputs);
    }
    CHECK(contains(message_of<InternalError>([&] { rest.get(6); }), "makes 7 to"));
  }
  CHECK(later.reads <= 15 * 5);
}

TEST_CASE("loader: what a mini-batch holds depends neither on depth nor on readers", "[loader]") {
  const Counting data(50);
  Loader a(data, {.order = {.batch_size = 8, .seed = 2}, .depth = 1}, 1);
  Loader b(data, {.order = {.batch_size = 8, .seed = 2}, .depth = 7}, 2);
  for (std::int64_t step = 0; step < 25; ++step) {
    const MiniBatch left = take(a, step), right = b.get(step);
    b.release(step);
    b.release(step);
    CHECK(left.ids == right.ids);
  }
}

TEST_CASE("loader: memory is reused, never allocated again", "[loader]") {
  const Counting data(10);
  Loader loader(data, {.order = {.batch_size = 4, .drop_last = false}, .depth = 3}, 1);
  std::vector<const float*> inputs;
  for (std::int64_t step = 0; step < 30; ++step) {
    const MiniBatch& batch = loader.get(step);
    inputs.push_back(batch.inputs.data());
    CHECK(batch.inputs.capacity() == 8);
    if (step >= 3) CHECK(inputs.back() == inputs[inputs.size() - 4]);
    loader.release(step);
  }
}

TEST_CASE("loader: two readers at different paces see the same mini-batches", "[loader]") {
  const Counting data(1000);
  Loader loader(data, {.order = {.batch_size = 10, .seed = 3}, .depth = 3}, 2);
  const auto reader = [&](int pause_every, std::vector<std::vector<SampleId>>& seen) {
    for (std::int64_t step = 0; step < 300; ++step) {
      if (step % pause_every == 0) std::this_thread::yield();
      seen.push_back(loader.get(step).ids);
      loader.release(step);
    }
  };
  std::vector<std::vector<SampleId>> fast, slow;
  std::thread other([&] { reader(1, slow); });
  reader(1000, fast);
  other.join();
  CHECK(fast.size() == 300);
  CHECK(fast == slow);
}

TEST_CASE("loader: a reader far ahead waits for the other's releases", "[loader]") {
  const Counting data(1000);
  Loader loader(data, {.order = {.batch_size = 10}, .depth = 2}, 2);
  std::atomic<std::int64_t> ahead = -1;
  std::thread first([&] {
    for (std::int64_t step = 0; step < 10; ++step) {
      loader.get(step);
      loader.release(step);
      ahead = step;
    }
  });
  for (std::int64_t step = 0; step < 10; ++step) {
    loader.get(step);
    CHECK(ahead < step + 2);
    loader.release(step);
  }
  first.join();
  CHECK(ahead == 9);
}

TEST_CASE("loader: a reader that skips counts as one that has released", "[loader]") {
  const Counting data(100);
  LoaderOptions options = in_file_order;
  options.depth = 2;
  Loader loader(data, options, 2);
  loader.skip(0);  // before or after it is made
  CHECK(take(loader, 0).ids[0] == 0);
  const MiniBatch first = take(loader, 1);
  loader.skip(1);
  for (int step = 2; step < 20; ++step) {
    loader.skip(step);
    CHECK(take(loader, step).ids[0] == 4 * step);
  }
  CHECK_THROWS_AS(loader.get(0), InternalError);
}

TEST_CASE("loader: a mini-batch that all readers skip in time is not read", "[loader]") {
  const Counting data(1000);
  LoaderOptions options = in_file_order;
  options.depth = 2;
  Loader loader(data, options, 2);
  for (int step = 10; step < 20; ++step)
    for (int reader = 0; reader < 2; ++reader) loader.skip(step);
  CHECK_THROWS_AS(loader.skip(19), InternalError);
  for (int step = 0; step < 10; ++step) {
    (void)take(loader, step);
    loader.release(step);
  }
  CHECK(loader.get(20).ids[0] == 80);
  CHECK(loader.get(21).ids[0] == 84);
  CHECK(data.reads == 4 * 12);
}

TEST_CASE("loader: without readers nothing is read, and its length is known", "[loader]") {
  const Counting data(1000);
  const Loader loader(data, in_file_order, 0);
  CHECK(loader.steps_per_epoch() == 250);
  CHECK(data.reads == 0);
}

TEST_CASE("loader: at most `depth` mini-batches are read ahead", "[loader]") {
  const Counting data(1000);
  {
    Loader loader(data, {.order = {.batch_size = 10}, .depth = 3}, 1);
    loader.get(2);
  }
  CHECK(data.reads == 30);
}

TEST_CASE("loader: a read error comes out of get, for every reader, and nowhere else", "[loader]") {
  Counting data(20);
  data.fails_at = 9;
  Loader loader(data, in_file_order, 2);
  for (std::int64_t step = 0; step < 2; ++step) {
    CHECK(loader.get(step).samples == 4);
    loader.release(step);
  }
  for (const std::int64_t step : {2, 2, 3})
    CHECK(message_of<DataError>([&] { loader.get(step); }) == "sample 9 is damaged");
  CHECK(loader.get(1).ids.front() == 4);
  std::string elsewhere;
  std::thread other([&] { elsewhere = message_of<DataError>([&] { loader.get(5); }); });
  other.join();
  CHECK(elsewhere == "sample 9 is damaged");
}

TEST_CASE("loader: close wakes all that wait, and from then on get throws", "[loader]") {
  const Counting data(20);
  Loader loader(data, {.order = {.batch_size = 4}, .depth = 1}, 2);
  loader.get(0);
  std::atomic<bool> started = false;
  std::string woken;
  std::thread waiting([&] {
    started = true;
    woken = message_of<LoaderClosed>([&] { loader.get(1); });
  });
  while (!started) std::this_thread::yield();
  loader.close();
  waiting.join();
  CHECK(woken == "the loader was closed");
  CHECK_THROWS_AS(loader.get(0), LoaderClosed);
  loader.release(0);
  loader.close();
}

TEST_CASE("loader: the destructor ends, although some readers hold mini-batches or wait",
          "[loader]") {
  const Counting data(20);
  for (int round = 0; round < 50; ++round) {
    std::string woken;
    std::thread waiting;
    {
      Loader loader(data, {.order = {.batch_size = 4}, .depth = 2}, 3);
      loader.get(0);
      loader.get(1);
      std::atomic<bool> started = false;
      waiting = std::thread([&] {
        take(loader, 0);
        started = true;
        woken = message_of<LoaderClosed>([&] { loader.get(2); });
      });
      while (!started) std::this_thread::yield();
      loader.close();
      waiting.join();
    }
    CHECK(woken == "the loader was closed");
  }
  { const Loader unused(data, {}, 1); }
}

TEST_CASE("loader: a get that can never return says so instead", "[loader]") {
  const Counting data(100);
  const LoaderOptions options = {.order = {.batch_size = 4}, .depth = 2};
  SECTION("a mini-batch that every reader released") {
    Loader loader(data, options, 1);
    take(loader, 0);
    CHECK(contains(message_of<InternalError>([&] { loader.get(0); }),
                   "every reader has released it"));
    take(loader, 1);
    take(loader, 2);
    take(loader, 3);
    CHECK(contains(message_of<InternalError>([&] { loader.get(0); }),
                   "every reader has released it"));
  }
  SECTION("memory that the thread keeps itself") {
    Loader loader(data, options, 2);
    loader.get(0);
    loader.get(1);
    CHECK(contains(message_of<InternalError>([&] { loader.get(2); }),
                   "release of 0 by this very thread"));
  }
  SECTION("one thread reads for all, and went too far for one of them") {
    LoaderOptions inline_options = options;
    inline_options.reader_threads = 1;
    Loader loader(data, inline_options, 2);
    for (std::int64_t step = 0; step < 2; ++step) take(loader, step);
    CHECK(
        contains(message_of<InternalError>([&] { loader.get(2); }), "2 mini-batches are too few"));
  }
  SECTION("all readers wait, and none is left to release") {
    Loader loader(data, options, 2);
    std::atomic<int> refused = 0, closed = 0;
    const auto go_too_far = [&] {
      try {
        loader.get(2);
      } catch (const InternalError&) {  // the one that waits second finds out
        ++refused;
        loader.close();
      } catch (const LoaderClosed&) {
        ++closed;
      }
    };
    std::thread other([&] {
      take(loader, 0);
      go_too_far();
    });
    go_too_far();
    other.join();
    CHECK(refused == 1);
    CHECK(closed == 1);
  }
  SECTION("two releases too many") {
    Loader loader(data, options, 1);
    take(loader, 0);
    CHECK(contains(message_of<InternalError>([&] { loader.release(0); }), "more than 1 times"));
    CHECK(contains(message_of<InternalError>([&] { loader.release(-1); }), "mini-batch -1"));
  }
  SECTION("no mini-batch at all") {
    CHECK(contains(
        message_of<InternalError>([&] { Loader(data, {.order = {.batch_size = 101}}, 1); }),
        "drop_last leaves nothing of 100"));
  }
}
