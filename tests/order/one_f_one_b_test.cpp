#include "order/orders.hpp"
#include "order/picture.hpp"

using namespace pipetrain;

TEST_CASE("1f1b runs as its picture shows") {
  CHECK(test::drawn(orders::one_f_one_b, {.stages = 3, .microbatches = 4}) ==
        test::picture_in("src/order/one_f_one_b.cpp"));
}

TEST_CASE("1f1b: stage s of P runs P-1-s forwards before it alternates") {
  const OrderInput input{.stages = 4, .microbatches = 5};
  CHECK(test::list_text(orders::one_f_one_b, input, 0) == "F0 F1 F2 F3 B0 F4 B1 B2 B3 B4");
  CHECK(test::list_text(orders::one_f_one_b, input, 2) == "F0 F1 B0 F2 B1 F3 B2 F4 B3 B4");
  CHECK(test::list_text(orders::one_f_one_b, input, 3) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4");
}

TEST_CASE("1f1b with fewer micro-batches than stages runs all forwards first if there is room") {
  const OrderInput input{.stages = 4, .microbatches = 2, .minibatches = 2};
  CHECK(test::list_text(orders::one_f_one_b, input, 0) == "F0 F1 B0 B1 F2 F3 B2 B3");
  CHECK(test::list_text(orders::one_f_one_b, input, 3) == "F0 B0 F1 B1 F2 B2 F3 B3");
}
