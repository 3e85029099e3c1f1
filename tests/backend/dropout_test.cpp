// Dropout: which elements are dropped depends on seed, step, micro-batch and layer alone.
#include <cmath>
#include <set>

#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/dropout_mask.hpp"
#include "cases.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

Floats factors(double p, const char* layer, const RandomKey& key, std::int64_t count) {
  Floats result(static_cast<std::size_t>(count));
  DropoutMask(p, layer, key).factors(0, count, result.data());
  return result;
}

double kept_share(const Floats& mask) {
  double kept = 0;
  for (const float factor : mask) kept += factor != 0;
  return kept / static_cast<double>(mask.size());
}

}  // namespace

TEST_CASE("a dropout mask keeps 1 - p of the elements, scaled to the same mean", "[dropout]") {
  constexpr std::int64_t count = 100000;
  for (const double p : {0.1, 0.5, 0.9}) {
    const Floats mask = factors(p, "drop", {1, 2, 3}, count);
    CHECK(kept_share(mask) == Approx(1 - p).margin(4 * std::sqrt(p * (1 - p) / count)));
    CHECK(std::set<float>(mask.begin(), mask.end()) ==
          std::set<float>{0.0f, static_cast<float>(1 / (1 - p))});
  }
  CHECK(factors(0, "drop", {1, 2, 3}, 99) == Floats(99, 1.0f));
  CHECK(factors(1, "drop", {1, 2, 3}, 99) == Floats(99, 0.0f));
}

TEST_CASE("a dropout mask is a function of seed, step, micro-batch and layer", "[dropout]") {
  const Floats mask = factors(0.5, "drop", {1, 2, 3}, 256);
  CHECK(mask == factors(0.5, "drop", {1, 2, 3}, 256));
  const std::set<Floats> others = {mask,
                                   factors(0.5, "drop", {9, 2, 3}, 256),
                                   factors(0.5, "drop", {1, 9, 3}, 256),
                                   factors(0.5, "drop", {1, 2, 9}, 256),
                                   factors(0.5, "drop", {1, 3, 2}, 256),
                                   factors(0.5, "drop2", {1, 2, 3}, 256)};
  CHECK(others.size() == 6);
}

TEST_CASE("any part of a dropout mask can be drawn on its own", "[dropout]") {
  const Floats whole = factors(0.4, "drop", {1, 2, 3}, 64);
  const DropoutMask mask(0.4, "drop", {1, 2, 3});
  for (std::int64_t first = 0; first < 9; ++first)
    for (std::int64_t count = 0; count < 11; ++count) {
      Floats part(static_cast<std::size_t>(count) + 1, -1.0f);
      mask.factors(first, count, part.data());
      CHECK(part.back() == -1.0f);
      part.pop_back();
      CHECK(part == Floats(whole.begin() + first, whole.begin() + first + count));
    }
}

TEST_CASE("dropout multiplies by its mask, forward and backward", "[dropout][backends]") {
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  const Graph graph = make_graph({3, 5, 5}, {{"drop", Dropout{.p = 0.25}, {3, 5, 5}}});
  const Task task = make_task(graph, 2, Mode::Train);
  const auto outcome = run(*backend, task).microbatches[0];
  const Floats mask = factors(0.25, "drop", task.microbatches[0].random, 150);
  for (std::size_t i = 0; i < mask.size(); ++i) {
    CHECK(outcome.output[i] == task.microbatches[0].input[i] * mask[i]);
    CHECK(outcome.input_gradient[i] == outcome.output_gradient[i] * mask[i]);
  }
}

TEST_CASE("the CPU's loops draw the same mask, for any number of blocks from any block on",
          "[dropout]") {
  const DropoutMask mask(0.3, "drop", {1, 2, 3});
  const std::int64_t carry =
      (std::int64_t{1} << 32) - 5;  // the lower half of the counter ends here
  for (const auto* loops : {&cpu::vector_loops(), &cpu::portable_loops()})
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{7}, carry})
      for (const std::int64_t blocks : {0, 1, 15, 16, 17, 40}) {
        std::vector<std::uint8_t> kept(static_cast<std::size_t>(4 * blocks) + 1, 9);
        loops->keep_elements(mask.parts(), first, blocks, kept.data());
        CHECK(kept.back() == 9);
        Floats expected(static_cast<std::size_t>(4 * blocks));
        mask.factors(4 * first, 4 * blocks, expected.data());
        bool same = true;
        for (std::size_t i = 0; i < expected.size(); ++i)
          same = same && (expected[i] != 0) == (kept[i] == 1) && kept[i] <= 1;
        CHECK(same);
      }
}
