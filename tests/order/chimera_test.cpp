#include "order/orders.hpp"
#include "order/picture.hpp"

using namespace pipetrain;

TEST_CASE("chimera runs as its picture shows") {
  CHECK(test::drawn(orders::chimera, {.stages = 4, .microbatches = 4}) ==
        test::picture_in("src/order/chimera.cpp"));
}

TEST_CASE("chimera: even micro-batches go down the workers, odd ones up") {
  const OrderInput input{.stages = 4, .microbatches = 6, .minibatches = 2};
  const auto program = orders::chimera.make(input);
  CHECK(program.stages == 4);
  for (int w = 0; w < 4; ++w)
    for (const auto& i : program.workers[static_cast<std::size_t>(w)])
      CHECK(i.stage.value == (i.microbatch.value % 2 == 0 ? w : 3 - w));
}

TEST_CASE("chimera: units of P micro-batches follow each other, the last may be a part of one") {
  CHECK(test::list_text(orders::chimera, {.stages = 2, .microbatches = 4}, 0) ==
        "0F0 1F1 1B1 0B0 0F2 1F3 1B3 0B2");
  CHECK(test::list_text(orders::chimera, {.stages = 4, .microbatches = 6}, 0) ==
        "0F0 0F2 3F1 3B1 3F3 3B3 0B0 0F4 0B2 3F5 3B5 0B4");
  CHECK(test::list_text(orders::chimera, {.stages = 4, .microbatches = 2}, 3) == "0F1 3F0 3B0 0B1");
}

// Both directions find their slots free: the program lasts each worker's work and P-2 slots.
TEST_CASE("chimera: no two micro-batches meet in a slot") {
  for (const int p : {2, 4, 6, 8})
    for (const int units : {1, 2, 3}) {
      const OrderInput input{.stages = p, .microbatches = p * units};
      const auto program = add_transfers(add_updates(orders::chimera.make(input)));
      CHECK(simulate(program, {.all = {1, 1, 0, 0}}).makespan == 2 * p * units + p - 2);
    }
}
