// Transfers that occupy both of their workers, as in BaPipe's 1F1B-SNO (Zhao et al., arXiv
// 2012.12544). A transfer begins when its sender and its receiver have both come to it, and neither
// computes until it has ended. A worker that comes to several transfers with nothing to compute
// between them is ready for all of them at once, so opposite transfers of neighbours run side by
// side. Updates do not wait for a transfer; stages on one worker need none.
#pragma once

#include <cstddef>
#include <vector>

#include "program/check.hpp"
#include "program/simulate.hpp"

namespace pipetrain {

// How far the workers of a program get.
struct RendezvousWalk {
  std::vector<std::vector<Span>> spans;  // as Program::workers, for what has ended; a transfer has
                                         // the same span on both workers
  std::vector<std::size_t> reached;      // per worker: the instruction that it waits for; its
                                         // list's size if it has finished
};
RendezvousWalk walk_rendezvous(const Program& program, const Costs& costs);

// Where each worker is that waits forever; empty if the program finishes. Which worker runs first
// changes nothing, since a channel has one sender and one receiver (Kahn, 1974). So one walk is
// proof for every interleaving.
std::vector<Diagnostic> find_rendezvous_deadlock(const Program& program);

}  // namespace pipetrain
