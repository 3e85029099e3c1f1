#include "order/orders.hpp"
#include "order/picture.hpp"

using namespace pipetrain;

TEST_CASE("interleaved runs as its picture shows") {
  CHECK(test::drawn(orders::interleaved, {.stages = 2, .microbatches = 4, .virtual_stages = 2}) ==
        test::picture_in("src/order/interleaved.cpp"));
}

TEST_CASE("interleaved: worker w holds the stages w, P+w, 2P+w, ..") {
  const auto program =
      orders::interleaved.make({.stages = 2, .microbatches = 2, .virtual_stages = 3});
  CHECK(program.stages == 6);
  CHECK(program.placement ==
        std::vector<std::vector<WorkerId>>{{{0}}, {{1}}, {{0}}, {{1}}, {{0}}, {{1}}});
}

TEST_CASE("interleaved: micro-batches go in groups of P, backwards from the last virtual stage") {
  const OrderInput input{.stages = 2, .microbatches = 4, .virtual_stages = 2};
  CHECK(test::list_text(orders::interleaved, input, 0) ==
        "0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3");
  CHECK(test::list_text(orders::interleaved, input, 1) ==
        "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3");
}

TEST_CASE("interleaved with one virtual stage is 1f1b with the double warm-up") {
  const OrderInput input{
      .stages = 4, .microbatches = 8, .minibatches = 2, .warmup = Warmup::Double};
  CHECK(orders::interleaved.make(input).workers == orders::one_f_one_b.make(input).workers);
}
