#include "order/orders.hpp"
#include "order/picture.hpp"

using namespace pipetrain;

TEST_CASE("zb_v runs as its picture shows") {
  CHECK(test::drawn(orders::zb_v, {.stages = 2, .microbatches = 3}) ==
        test::picture_in("src/order/zb_v.cpp"));
}

TEST_CASE("zb_v: worker r holds the stages r and 2P-1-r") {
  const auto program = orders::zb_v.make({.stages = 3, .microbatches = 5});
  CHECK(program.stages == 6);
  CHECK(program.placement ==
        std::vector<std::vector<WorkerId>>{{{0}}, {{1}}, {{2}}, {{2}}, {{1}}, {{0}}});
}

TEST_CASE("zb_v with fewer micro-batches leaves the others out of the same pattern") {
  const OrderInput five{.stages = 3, .microbatches = 5};
  for (const int n : {1, 2, 4}) {
    auto expected = orders::zb_v.make(five);
    expected.microbatches = n;
    for (auto& list : expected.workers)
      std::erase_if(list, [&](const auto& i) { return i.microbatch.value >= n; });
    CHECK(orders::zb_v.make({.stages = 3, .microbatches = n}) == expected);
  }
  CHECK(test::list_text(orders::zb_v, {.stages = 1, .microbatches = 2}, 0) ==
        "0F0 1F0 1I0 1W0 0F1 0I0 0W0 1F1 1I1 1W1 0I1 0W1");
}
