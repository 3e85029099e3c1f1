// Transfers that occupy both of their workers, as in BaPipe's 1F1B-SNO (Zhao et al., arXiv
// 2012.12544): a transfer begins when its sender and its receiver have both come to it, and neither
// computes until it has ended. A worker that comes to several transfers with nothing to compute
// between them is ready for all of them at once, so that opposite transfers of neighbours run side
// by side. Updates do not wait for a transfer; stages on one worker need none.
#pragma once

#include <cstddef>
#include <vector>

#include "program/check.hpp"
#include "program/simulate.hpp"

namespace pipetrain {

// How far the workers of a program come.
struct RendezvousWalk {
  std::vector<std::vector<Span>> spans;  // as Program::workers, of what has ended; a transfer's is
                                         // the same on both workers
  std::vector<std::size_t> reached;      // per worker: what it waits for; the size of its list
                                         // where it has come to its end
};
RendezvousWalk walk_rendezvous(const Program& program, const Costs& costs);

// Where each worker is that waits forever; empty where the program finishes. Which worker goes
// first changes nothing, as a channel has one sender and one receiver (Kahn, 1974): one walk proves
// all.
std::vector<Diagnostic> find_rendezvous_deadlock(const Program& program);

}  // namespace pipetrain
