// Which channel a send or a receive uses. A channel belongs to one boundary between stages, one
// kind (activation, recomputed or not, or gradient) and one pair of workers; it is first in, first
// out.
#pragma once

#include <compare>

#include "program/program.hpp"

namespace pipetrain {

struct ChannelId {
  int boundary = 0;       // between stages `boundary` and `boundary` + 1
  bool gradient = false;  // false: activation
  WorkerId from, to;
  auto operator<=>(const ChannelId&) const = default;
};

// The channel of a send or receive, in a program whose stages and micro-batches are in range.
inline ChannelId channel_of(const Program& program, const Instruction& i) {
  const bool gradient = i.op == Op::SendGradient || i.op == Op::ReceiveGradient;
  const bool above =
      i.op == Op::SendActivation || i.op == Op::SendRecomputed || i.op == Op::ReceiveGradient;
  const int boundary = above ? i.stage.value : i.stage.value - 1;
  const WorkerId lower = program.worker_of({boundary}, i.microbatch),
                 upper = program.worker_of({boundary + 1}, i.microbatch);
  return {boundary, gradient, gradient ? upper : lower, gradient ? lower : upper};
}

}  // namespace pipetrain
