#include "order/orders.hpp"
#include "order/picture.hpp"

using namespace pipetrain;

TEST_CASE("gpipe runs as its picture shows") {
  CHECK(test::drawn(orders::gpipe, {.stages = 3, .microbatches = 4}) ==
        test::picture_in("src/order/gpipe.cpp"));
}

TEST_CASE("gpipe goes backward in reverse, mini-batch by mini-batch, on every stage") {
  const OrderInput input{.stages = 2, .microbatches = 3, .minibatches = 2};
  for (int worker : {0, 1})
    CHECK(test::list_text(orders::gpipe, input, worker) == "F0 F1 F2 B2 B1 B0 F3 F4 F5 B5 B4 B3");
}

TEST_CASE("gpipe of one stage and one micro-batch alternates") {
  CHECK(test::list_text(orders::gpipe, {.stages = 1, .microbatches = 1, .minibatches = 2}, 0) ==
        "F0 B0 F1 B1");
}
