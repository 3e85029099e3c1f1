#include "order/orders.hpp"
#include "order/picture.hpp"

using namespace pipetrain;

TEST_CASE("zb_h1 runs as its picture shows") {
  CHECK(test::drawn(orders::zb_h1, {.stages = 3, .microbatches = 4}) ==
        test::picture_in("src/order/zb_h1.cpp"));
}

TEST_CASE("zb_h1: the weight halves of stage s lag s micro-batches behind") {
  const OrderInput input{.stages = 3, .microbatches = 5};
  CHECK(test::list_text(orders::zb_h1, input, 0) == "F0 F1 F2 I0 W0 F3 I1 W1 F4 I2 W2 I3 W3 I4 W4");
  CHECK(test::list_text(orders::zb_h1, input, 1) == "F0 F1 I0 F2 I1 W0 F3 I2 W1 F4 I3 W2 I4 W3 W4");
  CHECK(test::list_text(orders::zb_h1, input, 2) == "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 F4 I4 W2 W3 W4");
}

TEST_CASE("zb_h1 without its weight halves is 1f1b, whatever the sizes") {
  for (const int p : {1, 2, 4, 7})
    for (const int n : {1, 2, 4, 9}) {
      const OrderInput input{.stages = p, .microbatches = n, .minibatches = 2};
      const Program halves = orders::zb_h1.make(input);
      Program whole = halves;
      for (auto& list : whole.workers) {
        std::erase_if(list, [](const auto& i) { return i.op == Op::BackwardWeight; });
        for (auto& i : list)
          if (i.op == Op::BackwardInput) i.op = Op::Backward;
      }
      CAPTURE(p, n);
      CHECK(whole == orders::one_f_one_b.make(input));
    }
}

TEST_CASE("zb_h1 of one stage or one micro-batch still has all halves") {
  CHECK(test::list_text(orders::zb_h1, {.stages = 1, .microbatches = 2}, 0) == "F0 I0 W0 F1 I1 W1");
  const OrderInput one{.stages = 3, .microbatches = 1, .minibatches = 2};
  for (int w : {0, 1, 2}) CHECK(test::list_text(orders::zb_h1, one, w) == "F0 I0 W0 F1 I1 W1");
}
