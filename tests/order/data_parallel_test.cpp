#include "order/orders.hpp"
#include "order/picture.hpp"

using namespace pipetrain;

TEST_CASE("data_parallel runs as its picture shows") {
  CHECK(test::drawn(orders::data_parallel, {.stages = 3, .microbatches = 6}) ==
        test::picture_in("src/order/data_parallel.cpp"));
}

TEST_CASE("data_parallel: one stage, a copy of it on every worker") {
  const OrderInput input{.stages = 2, .microbatches = 2, .minibatches = 2};
  const auto program = orders::data_parallel.make(input);
  CHECK(program.stages == 1);
  CHECK(program.placement == std::vector<std::vector<WorkerId>>{{{0}, {1}}});
  CHECK(test::list_text(orders::data_parallel, input, 1) == "0F1 0B1 0F3 0B3");
}
