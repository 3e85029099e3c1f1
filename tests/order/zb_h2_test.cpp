#include "order/orders.hpp"
#include "order/picture.hpp"

using namespace pipetrain;

TEST_CASE("zb_h2 runs as its picture shows") {
  CHECK(test::drawn(orders::zb_h2, {.stages = 3, .microbatches = 6}) ==
        test::picture_in("src/order/zb_h2.cpp"));
}

TEST_CASE("zb_h2: stage s of P runs 2(P-s)-1 forwards and puts off up to 2s weight halves") {
  const OrderInput input{.stages = 2, .microbatches = 4};
  CHECK(test::list_text(orders::zb_h2, input, 0) == "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3");
  CHECK(test::list_text(orders::zb_h2, input, 1) == "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3");
}

TEST_CASE("zb_h2 with few micro-batches runs all forwards first if there is room") {
  const OrderInput input{.stages = 3, .microbatches = 2, .minibatches = 2};
  CHECK(test::list_text(orders::zb_h2, input, 0) == "F0 F1 I0 W0 I1 W1 F2 F3 I2 W2 I3 W3");
  CHECK(test::list_text(orders::zb_h2, input, 2) == "F0 I0 F1 I1 W0 W1 F2 I2 F3 I3 W2 W3");
}
