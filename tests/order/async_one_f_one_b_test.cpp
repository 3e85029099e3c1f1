#include "order/orders.hpp"
#include "order/picture.hpp"

using namespace pipetrain;

TEST_CASE("asynchronous 1f1b runs as its picture shows") {
  CHECK(test::drawn(orders::async_one_f_one_b, {.stages = 3, .minibatches = 6}) ==
        test::picture_in("src/order/async_one_f_one_b.cpp"));
}

TEST_CASE("asynchronous 1f1b: the warm-up is the delay in micro-batches") {
  const auto first = [](Warmup warmup, int worker) {
    return test::list_text(orders::async_one_f_one_b,
                           {.stages = 3, .microbatches = 1, .minibatches = 6, .warmup = warmup},
                           worker);
  };
  CHECK(first(Warmup::OneFOneB, 0) == "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5");
  CHECK(first(Warmup::Double, 0) == "F0 F1 F2 F3 F4 B0 F5 B1 B2 B3 B4 B5");
  CHECK(first(Warmup::Full, 0) == "F0 F1 F2 F3 F4 F5 B0 B1 B2 B3 B4 B5");
  CHECK(first(Warmup::Full, 2) == "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5");
}

TEST_CASE("asynchronous 1f1b: mini-batches follow each other without a gap") {
  CHECK(test::list_text(orders::async_one_f_one_b,
                        {.stages = 2, .microbatches = 2, .minibatches = 2},
                        0) == "F0 F1 B0 F2 B1 F3 B2 B3");
}
