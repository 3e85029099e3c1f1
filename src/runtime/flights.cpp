#include "runtime/flights.hpp"

#include <utility>

#include "base/check.hpp"

namespace pipetrain {
namespace {

int take(std::vector<int>& free_slots) {
  PIPETRAIN_CHECK(!free_slots.empty(), "no free activation slot");
  const int slot = free_slots.back();
  free_slots.pop_back();
  return slot;
}

}  // namespace

Flights::Flights(const Room& room) : recomputes_(room.input_slots > 0), ring_(room.microbatches) {
  for (int slot = room.slots - 1; slot >= 0; --slot) free_slots_.push_back(slot);
  for (int slot = room.input_slots - 1; slot >= 0; --slot) free_input_slots_.push_back(slot);
}

Flight& Flights::open(MicrobatchId m, int samples, const Lengths& lengths) {
  Flight& f = of(m);
  PIPETRAIN_CHECK(!f.open, "more micro-batches are in flight than the program has");
  f = {};
  f.open = true;
  f.samples = samples;
  f.lengths = lengths;
  if (recomputes_)
    f.input_slot = take(free_input_slots_);
  else
    f.slot = take(free_slots_);
  return f;
}

void Flights::close(MicrobatchId m) {
  Flight& f = of(m);
  PIPETRAIN_CHECK(f.open, "a micro-batch leaves that is not there");
  free_slots_.push_back(f.slot);
  if (f.input_slot >= 0) free_input_slots_.push_back(f.input_slot);
  f.open = false;
}

void Flights::take_slot(MicrobatchId m) { of(m).slot = take(free_slots_); }

void Flights::give_slot(MicrobatchId m) { free_slots_.push_back(std::exchange(of(m).slot, -1)); }

}  // namespace pipetrain
