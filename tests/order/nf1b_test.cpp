// nf1b against its picture, the paper's figure and its closed form.
#include <algorithm>

#include "order/orders.hpp"
#include "order/picture.hpp"

using namespace pipetrain;

namespace {

// The papers' slots of one stage: 1A is the first mini-batch's first micro-batch, 1 its backward.
std::string slots(int stages, int microbatches, int stage) {
  const auto program = add_transfers(add_updates(
      orders::nf1b.make({.stages = stages, .microbatches = microbatches, .minibatches = 9})));
  const auto line = simulate(program, {.all = {1, 1.0 / microbatches, 0, 0}});
  std::vector<std::string> slot(12, ".");
  for (const Cell& cell : cells_of(program, line, static_cast<std::size_t>(stage))) {
    const auto at = static_cast<std::size_t>(cell.span.start + 0.5);
    if (at >= slot.size()) break;
    const int m = cell.instruction->microbatch.value;
    slot[at] = std::to_string(m / microbatches + 1);
    if (cell.instruction->op == Op::Forward) slot[at] += static_cast<char>('A' + m % microbatches);
  }
  std::string text;
  for (const auto& s : slot) text += (text.empty() ? "" : " ") + s;
  return text;
}

}  // namespace

TEST_CASE("nf1b runs as its picture shows") {
  CHECK(test::drawn(orders::nf1b, {.stages = 3, .microbatches = 2, .minibatches = 4}) ==
        test::picture_in("src/order/nf1b.cpp"));
}

// Figure 2 of the paper.
TEST_CASE("nf1b gives the slots that TiMePReSt's paper draws") {
  CHECK(slots(3, 2, 0) == "1A 1B 2A 2B 3A 3B 1 4A 4B 2 5A 5B");
  CHECK(slots(3, 2, 1) == ". 1A 1B 2A 2B 1 3A 3B 2 4A 4B 3");
  CHECK(slots(3, 2, 2) == ". . 1A 1B 1 2A 2B 2 3A 3B 3 4A");
  CHECK(slots(4, 4, 0) == "1A 1B 1C 1D 2A 2B 2C 2D 3A 3B 1 3C");
  CHECK(slots(4, 4, 3) == ". . . 1A 1B 1C 1D 1 2A 2B 2C 2D");
  CHECK(slots(4, 2, 0) == "1A 1B 2A 2B 3A 3B 4A 4B 1 5A 5B 2");
  CHECK(slots(4, 2, 3) == ". . . 1A 1B 1 2A 2B 2 3A 3B 3");
}

TEST_CASE("nf1b of one micro-batch is PipeDream's order") {
  for (const int p : {1, 2, 4}) {
    const OrderInput input{.stages = p, .microbatches = 1, .minibatches = 8};
    for (int w = 0; w < p; ++w)
      CHECK(test::list_text(orders::nf1b, input, w) ==
            test::list_text(orders::async_one_f_one_b, input, w));
  }
}

// Stage s runs N + 2(W-1-s) forwards, then a backward and N forwards in turn.
TEST_CASE("nf1b: the order has a closed form") {
  for (const int p : {1, 2, 3, 5})
    for (const int n : {2, 3, 4}) {
      const OrderInput input{.stages = p, .microbatches = n, .minibatches = 12};
      const auto program = orders::nf1b.make(input);
      for (int s = 0; s < p; ++s) {
        std::vector<Instruction> expected;
        int f = 0;
        const auto forwards = [&](int count) {
          for (; count > 0 && f < 12 * n; --count)
            expected.push_back({Op::Forward, {s}, {f++}, {}});
        };
        forwards(n + 2 * (p - 1 - s));
        for (int k = 0; k < 12; ++k) {
          for (int m = 0; m < n; ++m) expected.push_back({Op::Backward, {s}, {k * n + m}, {}});
          forwards(n);
        }
        CAPTURE(p, n, s);
        CHECK(program.workers[static_cast<std::size_t>(s)] == expected);
      }
    }
}
