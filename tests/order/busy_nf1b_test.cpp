// busy_nf1b against its picture, makespans, and the rule that it follows.
#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "order/orders.hpp"
#include "order/picture.hpp"

using namespace pipetrain;

namespace {

Timeline line_of(const Program& program, const BusyTimes& times) {
  const double backward = 1. * times.backward / program.microbatches;
  return simulate(program, {.all = {1. * times.forward, backward, 0, 0}});
}

// With F = 1 and B = 2N.
double makespan(int stages, int microbatches, int in_flight) {
  const OrderInput input{.stages = stages,
                         .microbatches = microbatches,
                         .minibatches = 40,
                         .busy = {.in_flight = in_flight}};
  return line_of(test::without_versions(orders::busy_nf1b, input),
                 settled(input.busy, stages, microbatches))
      .makespan;
}

struct Draw {
  std::mt19937& random;
  int from_to(int low, int high) { return std::uniform_int_distribution(low, high)(random); }
  OrderInput input() {
    const int p = from_to(1, 6), n = from_to(1, 6);
    return {.stages = p,
            .microbatches = n,
            .minibatches = from_to(1, 12),
            .busy = {from_to(1, 4), from_to(1, 4 * n), from_to(1, 2 * p)}};
  }
};

}  // namespace

TEST_CASE("busy_nf1b runs as its picture shows") {
  const OrderInput input{.stages = 3, .microbatches = 2, .minibatches = 3};
  const Program program = test::without_versions(orders::busy_nf1b, input);
  CHECK(draw(program, line_of(program, settled({}, 3, 2))) ==
        test::picture_in("src/order/busy_nf1b.cpp"));
}

// Worked out by another program; in_flight = P and none at all.
TEST_CASE("busy_nf1b: the makespan of 40 mini-batches, by mini-batches in flight") {
  CHECK(makespan(4, 4, 1) == 1560);
  CHECK(makespan(4, 4, 2) == 849);
  CHECK(makespan(4, 4, 3) == 624);
  CHECK(makespan(4, 4, 0) == 507);
  CHECK(makespan(4, 4, 40) == 507);
  CHECK(makespan(4, 8, 2) == 1657);
  CHECK(makespan(4, 8, 0) == 1011);
  CHECK(makespan(2, 8, 0) == 977);
  CHECK(makespan(3, 4, 2) == 669);
  CHECK(makespan(3, 4, 0) == 498);
  CHECK(makespan(8, 8, 5) == 1436);
  CHECK(makespan(8, 8, 40) == 1079);
}

TEST_CASE("busy_nf1b keeps more micro-batches in flight than nf1b") {
  for (const auto& [p, n, busy, slots] : {std::tuple{4, 4, 16, 10}, {4, 8, 32, 14}}) {
    const OrderInput input{.stages = p, .microbatches = n, .minibatches = 40};
    const auto peak = [&](const Order& order) {
      return line_of(test::without_versions(order, input),
                     settled({}, input.stages, input.microbatches))
          .peak_activations[0];
    };
    CHECK(peak(orders::busy_nf1b) == busy);
    CHECK(peak(orders::nf1b) == slots);
  }
}

// A worker that waits has nothing that it may begin: whenever one begins something after a wait,
// that became ready, or its mini-batch was admitted, at this time and not before; and a forward
// that begins while a backward is ready would be out of order.
TEST_CASE("busy_nf1b never waits while something is ready") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int trial = 0; trial < 200; ++trial) {
    const OrderInput in = Draw{random}.input();
    CAPTURE(in.stages, in.microbatches, in.minibatches, in.busy.forward, in.busy.backward,
            in.busy.in_flight);
    const Program program = test::without_versions(orders::busy_nf1b, in);
    const Timeline line = line_of(program, in.busy);
    std::map<std::tuple<int, bool, int>, Span> spans;  // stage, is a forward, number
    for (int s = 0; s < in.stages; ++s)
      for (const Cell& cell : cells_of(program, line, static_cast<std::size_t>(s))) {
        const bool is_forward = cell.op == Op::Forward;
        const int m = cell.instruction->microbatch.value;
        spans[{s, is_forward, is_forward ? m : m / in.microbatches}] = cell.span;
      }
    const auto end = [&](int s, bool is_forward, int number) {
      return spans.at({s, is_forward, number}).end;
    };
    // When the operation could begin at the earliest, by what it reads.
    const auto ready = [&](int s, bool is_forward, int number) {
      if (!is_forward)
        return s + 1 < in.stages ? end(s + 1, false, number)
                                 : end(s, true, (number + 1) * in.microbatches - 1);
      if (s > 0) return end(s - 1, true, number);
      const int k = number / in.microbatches;
      if (number % in.microbatches > 0 || k < in.busy.in_flight) return 0.;
      return end(0, false, k - in.busy.in_flight);
    };
    constexpr double rounding = 1e-9;  // a mini-batch's backward is a sum
    for (int s = 0; s < in.stages; ++s) {
      double free = 0;
      int forwards = 0, backwards = 0;
      for (const Cell& cell : cells_of(program, line, static_cast<std::size_t>(s))) {
        const bool is_forward = cell.op == Op::Forward;
        const double start = cell.span.start;
        CAPTURE(s, forwards, backwards, start);
        CHECK(start ==
              Approx(std::max(free, ready(s, is_forward, is_forward ? forwards : backwards))));
        // What it had instead was not ready, or a forward.
        if (is_forward && backwards < in.minibatches)
          CHECK(ready(s, false, backwards) > start + rounding);
        if (!is_forward && forwards < in.minibatches * in.microbatches && start > free + rounding)
          CHECK(ready(s, true, forwards) >= start - rounding);
        ++(is_forward ? forwards : backwards);
        free = cell.span.end;
      }
    }
  }
}

TEST_CASE("busy_nf1b repeats itself after one mini-batch, or after those that may be in flight") {
  const auto period = [](int stages, int microbatches, int in_flight) {
    const OrderInput input{
        .stages = stages, .microbatches = microbatches, .busy = {.in_flight = in_flight}};
    CHECK(orders::busy_nf1b.compact(input).period ==
          orders::busy_nf1b.repetition(input).minibatches);
    return orders::busy_nf1b.repetition(input).minibatches;
  };
  CHECK(period(4, 4, 0) == 1);
  CHECK(period(4, 8, 2) == 2);
  CHECK(period(3, 1, 2) == 2);
  CHECK(period(6, 1, 5) == 5);
}
