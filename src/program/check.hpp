// Refuses ill-formed programs before anything runs. What holds if `check` finds nothing:
//
//   place     every instruction is of a stage that its worker holds; none appears twice
//   compute   each micro-batch goes forward once and backward once (B, or I and W) on each stage,
//             in that order; a recomputation is between the two, of all of them or of none; where
//             gradients go together, backwards are in the order of their micro-batches; a tail
//             follows its head with nothing that the stage computes in between
//   input     stage 0 loads what it forwards; the others receive it, and pass on what they make; a
//             stage that receives recomputed inputs does so for all its micro-batches
//   order     each channel is read in the order in which it is written
//   update    each copy of a stage updates once per mini-batch (where copies take whole ones, once
//             for one of each copy), in turn, after all its backwards and before those of the
//             next; after a SyncGradients where the stage has any, and where it has several copies
//   version   what is read exists already, and no stage holds more versions than allowed
//   deadlock  the program finishes with channels that hold `channel_capacity` packets, where a
//             send waits while its channel is full, and an update after a SyncGradients for all
//             those of its sync group and mini-batch; with `rendezvous` also where transfers occupy
//             both workers
#pragma once

#include <string>
#include <vector>

#include "program/program.hpp"

namespace pipetrain {

struct CheckOptions {
  int channel_capacity = 1;
  // Of channels of activations; 0: channel_capacity. Twice that where stages recompute in segments.
  int activation_capacity = 0;
  std::vector<int> weight_versions = {};  // how many each stage may hold at once; empty: any number
  bool rendezvous = false;                // also check by the rules of program/rendezvous.hpp
};

struct Diagnostic {
  std::string rule, message;
  WorkerId worker;
  std::size_t index = 0;  // into the worker's list; its size if something is missing at the end
};

std::vector<Diagnostic> check(const Program& program, const CheckOptions& options = {});

// The whole grid with each finding marked >like this<, and the messages below it.
std::string show(const Program& program, const std::vector<Diagnostic>& diagnostics);

// By the rule `order`, in a program that keeps those before it: receives that get something else or
// nothing, and what no worker receives.
std::vector<Diagnostic> find_misread_channels(const Program& program);

// Where each worker that cannot continue is; empty if the program finishes.
std::vector<Diagnostic> find_deadlock(const Program& program, int channel_capacity,
                                      int activation_capacity = 0);

// The bound for programs in which forwards pile up in front of a stage: if stages share parameters
// or have copies that take turns, an update waits for other workers; a work-conserving order runs
// forwards while it waits for a backward. A pipeline then has a packet
// for each activation that may be in flight.
CheckOptions with_room_for_activations(const Program& program);

}  // namespace pipetrain
