// An order says what each worker computes and in which sequence, and nothing else: lists of F and B
// (or I and W) per worker. Passes add updates, versions and transfers. One file per published
// order.
#pragma once

#include <array>
#include <string_view>

#include "program/compact_order.hpp"

namespace pipetrain {

// How many forwards an alternating stage runs first; decides its delay. `stage` counts from 0.
enum class Warmup {
  OneFOneB,  // P-1-s:        the fewest that keep every stage busy
  Double,    // 2(P-1-s):     transfers are hidden by computation (BaPipe's 1F1B-SO)
  Full,      // 2(P-1-s)+1:   the delay that PipeMare's paper counts
};
// As users write them, in the order of the enumerators.
inline constexpr std::array<std::string_view, 3> warmup_words = {"1f1b", "double", "full"};
int warmup_forwards(Warmup warmup, int stages, StageId stage);

// The times from which a work-conserving order is made: whole numbers from the config, never
// measured ones, so that a config has one order on every machine.
struct BusyTimes {
  int forward = 1;    // of a micro-batch
  int backward = 0;   // of a mini-batch; 0: 2N
  int in_flight = 0;  // mini-batches that stage 0 has begun and not ended, at most; 0: P
  bool operator==(const BusyTimes&) const = default;
};
BusyTimes settled(BusyTimes times, int stages, int microbatches);  // without zeros

// Where an order of endless mini-batches is in its steady state: from mini-batch `first` on, it
// repeats itself after `minibatches` of them.
struct Repetition {
  int first = 0, minibatches = 0;
};

struct OrderInput {
  int stages = 1;        // pipeline workers P
  int microbatches = 1;  // per mini-batch, N
  int minibatches = 1;   // K
  Warmup warmup = Warmup::OneFOneB;
  BusyTimes busy = {};
  int virtual_stages = 1;  // parts of the model per worker, if the order leaves that open
  int only_worker = -1;    // the one whose list is wanted; the others' may be empty; -1: all
};

struct Order {
  std::string_view name, summary;
  // What each worker runs: for one mini-batch if the order flushes, otherwise for all of them.
  CompactOrder (*lists)(const OrderInput&);
  bool takes_warmup = false;  // OrderInput::warmup
  bool flushes = true;        // the pipeline drains at every update
  // Null if the order follows from its numbers of stages and micro-batches (steady_minibatches in
  // schedules.hpp). Throws a UsageError if the order repeats itself too late.
  Repetition (*repetition)(const OrderInput&) = nullptr;

  CompactOrder compact(const OrderInput& input) const {
    CompactOrder order = lists(input);
    order.repeats = flushes;
    return order;
  }
  Program make(const OrderInput& input) const { return to_program(compact(input)); }
};

}  // namespace pipetrain
