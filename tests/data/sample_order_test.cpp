// Which samples a mini-batch holds: a function of the seed and of its number, and of nothing else.
#include <algorithm>
#include <set>

#include "catch.hpp"
#include "data/sample_order.hpp"

using namespace pipetrain;

namespace {

std::vector<SampleId> samples(SampleOrder& order, std::int64_t step) {
  const auto ids = order.of(step).samples;
  return {ids.begin(), ids.end()};
}

std::vector<SampleId> epoch(SampleOrder& order, std::int64_t number) {
  std::vector<SampleId> all;
  for (std::int64_t k = 0; k < order.steps_per_epoch(); ++k)
    for (const SampleId id : order.of(number * order.steps_per_epoch() + k).samples)
      all.push_back(id);
  return all;
}

}  // namespace

TEST_CASE("order: without shuffle it is file order, and each epoch starts at 0 again", "[order]") {
  SampleOrder drop(7, {.batch_size = 3, .shuffle = false, .drop_last = true});
  CHECK(drop.steps_per_epoch() == 2);
  CHECK(samples(drop, 0) == std::vector<SampleId>{0, 1, 2});
  CHECK(samples(drop, 1) == std::vector<SampleId>{3, 4, 5});
  CHECK(samples(drop, 2) == std::vector<SampleId>{0, 1, 2});
  SampleOrder keep(7, {.batch_size = 3, .shuffle = false, .drop_last = false});
  CHECK(keep.steps_per_epoch() == 3);
  CHECK(samples(keep, 2) == std::vector<SampleId>{6});
  CHECK(samples(keep, 3) == std::vector<SampleId>{0, 1, 2});
}

TEST_CASE("order: an exact fit has no tail, and too large a mini-batch holds all samples",
          "[order]") {
  for (const bool drop_last : {true, false}) {
    SampleOrder exact(6, {.batch_size = 3, .shuffle = false, .drop_last = drop_last});
    CHECK(exact.steps_per_epoch() == 2);
    CHECK(samples(exact, 1) == std::vector<SampleId>{3, 4, 5});
  }
  SampleOrder large(2, {.batch_size = 100, .shuffle = false, .drop_last = false});
  CHECK(large.steps_per_epoch() == 1);
  CHECK(samples(large, 5) == std::vector<SampleId>{0, 1});
}

TEST_CASE("order: each shuffled epoch is a permutation of its own", "[order]") {
  SampleOrder order(100, {.batch_size = 7, .drop_last = false, .seed = 5});
  std::set<std::vector<SampleId>> seen;
  for (std::int64_t e = 0; e < 5; ++e) {
    const auto ids = epoch(order, e);
    CHECK(seen.insert(ids).second);
    CHECK(std::set<SampleId>(ids.begin(), ids.end()).size() == 100);
    CHECK(ids.size() == 100);
    CHECK(!std::is_sorted(ids.begin(), ids.end()));
  }
}

TEST_CASE("order: the dropped tail of a shuffled epoch differs each time", "[order]") {
  SampleOrder order(10, {.batch_size = 4, .seed = 1});
  std::set<SampleId> used;
  for (std::int64_t e = 0; e < 20; ++e)
    for (const SampleId id : epoch(order, e)) used.insert(id);
  CHECK(used.size() == 10);
}

TEST_CASE("order: seeds differ, the same seed does not", "[order]") {
  SampleOrder a(50, {.batch_size = 5, .seed = 1}), b(50, {.batch_size = 5, .seed = 1}),
      c(50, {.batch_size = 5, .seed = 2});
  CHECK(epoch(a, 0) == epoch(b, 0));
  CHECK(epoch(a, 0) != epoch(c, 0));
}

TEST_CASE("order: the mini-batch is a function of its number, whatever was asked before",
          "[order]") {
  SampleOrder forward(23, {.batch_size = 5, .drop_last = false, .seed = 9});
  SampleOrder backward = forward;
  std::vector<std::vector<SampleId>> a, b;
  for (std::int64_t k = 0; k < 30; ++k) a.push_back(samples(forward, k));
  for (std::int64_t k = 30; k-- > 0;) b.push_back(samples(backward, k));
  std::reverse(b.begin(), b.end());
  CHECK(a == b);
}

TEST_CASE("order: every sample is first equally often", "[order]") {
  SampleOrder order(4, {.batch_size = 1, .seed = 3});
  std::vector<int> first(4);
  for (std::int64_t e = 0; e < 4000; ++e)
    ++first[static_cast<std::size_t>(samples(order, 4 * e)[0])];
  for (const int count : first) CHECK(count == Approx(1000).margin(120));
}
