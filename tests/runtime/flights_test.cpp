// Slots go round: a flight that ends makes room, and no flight gets a slot that is taken.
#include "runtime/flights.hpp"

#include "base/check.hpp"
#include "catch.hpp"

using namespace pipetrain;

TEST_CASE("micro-batches in flight have slots of their own", "[flights]") {
  Flights flights({.microbatches = 4, .slots = 2});
  const int first = flights.open({0}, 8, {}).slot, second = flights.open({1}, 7, {}).slot;
  CHECK(first != second);
  CHECK(flights.of({1}).samples == 7);
  CHECK_THROWS_AS(flights.open({2}, 8, {}), InternalError);
}

TEST_CASE("a micro-batch that leaves makes room for the next", "[flights]") {
  Flights flights({.microbatches = 4, .slots = 2});
  const int first = flights.open({0}, 8, {}).slot;
  flights.open({1}, 8, {});
  flights.close({0});
  CHECK(flights.open({2}, 8, {}).slot == first);
  CHECK_THROWS_AS(flights.close({0}), InternalError);
}

TEST_CASE("the next repetition's micro-batch takes the place of this one's", "[flights]") {
  Flights flights({.microbatches = 2, .slots = 2});
  flights.open({0}, 8, {});
  CHECK_THROWS_AS(flights.open({2}, 8, {}), InternalError);
  flights.close({0});
  flights.open({2}, 5, {});
  CHECK(flights.of({0}).samples == 5);
}

TEST_CASE("if activations are recomputed a slot is taken and given back within a flight",
          "[flights]") {
  Flights flights({.microbatches = 4, .slots = 1, .input_slots = 2});
  flights.open({0}, 8, {});
  CHECK(flights.of({0}).slot == -1);
  flights.take_slot({0});
  flights.open({1}, 8, {});
  CHECK(flights.of({0}).input_slot != flights.of({1}).input_slot);
  CHECK_THROWS_AS(flights.take_slot({1}), InternalError);
  flights.give_slot({0});
  flights.take_slot({1});
  CHECK(flights.of({1}).slot == 0);
  CHECK(flights.of({0}).slot == -1);
}
