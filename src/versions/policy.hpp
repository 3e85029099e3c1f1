// A version policy says which weights each forward and backward reads: two pure functions.
// bind.hpp calls them while the program is made, so what a run reads can be printed beforehand.
#pragma once

#include <string_view>

#include "program/program.hpp"

namespace pipetrain {

// What the config tells policies that read weights which no update has made.
struct MixRule {
  bool extrapolates = true;  // delta is kept: T2, or no stash below
  enum class Share { Exp, Inverse, PowerOfTwo, Constant } share = Share::Exp;  // I-TiMePReSt: sigma
  double lambda = 1;
  bool stash = true;  // I-TiMePReSt: stale weights are kept; false: estimated by delta
};

// What the order alone determines for one forward or backward. Versions count a stage's updates.
struct ReadContext {
  MicrobatchId microbatch;  // counted over the whole program
  int microbatches = 1;     // per mini-batch, N
  Version at_entry;         // newest on stage 0 when the micro-batch's forward begins there
  Version at_forward;       // newest on this stage when its forward begins
  Version at_backward;      // newest on this stage when its backward begins; unknown to `forward`
  Version at_turn;          // newest on stage 0 when the mini-batch's backward begins on the last
                            // stage: every stage has made it. Unknown to `forward`
  double delay = 0;         // updates between forward and backward: the mean in steady state
  MixRule mix = {};
};

struct VersionPolicy {
  std::string_view name, summary;
  WeightRead (*forward)(const ReadContext&);
  WeightRead (*backward)(const ReadContext&, const WeightRead& used_by_forward);
  bool keeps_forward = false;  // backward reads what its forward read, under every order
  bool one_version = false;    // both read the newest version, so no older one is kept
  bool reads_turn = false;     // ReadContext::at_turn
};

}  // namespace pipetrain
