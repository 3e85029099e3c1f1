// Chimera: Li and Hoefler, "Chimera: Efficiently Training Large-Scale Neural Networks with
// Bidirectional Pipelines" (arXiv 2107.06925, section 3). Two pipelines run through the same P
// workers in opposite directions: stage s is on worker s for the even micro-batches, which go down,
// and on worker P-1-s for the odd ones, which go up. Each direction is 1f1b; if P is even, one
// computes while the other waits. P micro-batches are a unit, and the units of a mini-batch follow
// each other without a gap. Before an update the gradients of both copies of a stage are summed.
//
// 4 workers, 4 micro-batches, forward and backward take equal time; 3F1 is stage 3's forward:
//   worker 0  0F0 0F2   . 3F1 3B1 3F3 3B3|0B0   . 0B2|
//   worker 1    . 1F0 2F1 1F2 2F3 2B1 1B0 2B3|1B2|
//   worker 2    . 1F1 2F0 1F3 2F2 2B0 1B1 2B2|1B3|
//   worker 3  0F1 0F3   . 3F0 3B0 3F2 3B2|0B1   . 0B3|
#include <optional>

#include "order/parts.hpp"

namespace pipetrain::orders {
namespace {

// The slots in which stage s of P runs the micro-batch with this number in its mini-batch, if a
// forward and a backward take one slot each.
struct Slots {
  int stages;

  int start(int number) const {  // of the micro-batch on the first stage of its direction
    const int nth = number / 2, unit = stages / 2;
    return 2 * stages * (nth / unit) + 2 * (nth % unit);
  }
  int forward(int s, int number) const { return start(number) + s; }
  int backward(int s, int number) const { return start(number) + 2 * stages - 1 - s; }
};

CompactOrder lists(const OrderInput& input) {
  const int p = input.stages, n = input.microbatches;
  std::vector<std::vector<WorkerId>> placement;
  for (int s = 0; s < p; ++s) placement.push_back({WorkerId{s}, WorkerId{p - 1 - s}});
  return placed(input, std::move(placement), [&](ComputeList& list, int worker) {
    std::vector<std::optional<ComputeInstruction>> slots(
        static_cast<std::size_t>(Slots{p}.start(n - 1) + 2 * p));
    for (int m = 0; m < n; ++m) {
      const int s = m % 2 == 0 ? worker : p - 1 - worker;
      slots[static_cast<std::size_t>(Slots{p}.forward(s, m))] = forward({s}, m);
      slots[static_cast<std::size_t>(Slots{p}.backward(s, m))] = backward({s}, m);
    }
    for (const auto& instruction : slots)
      if (instruction) list.push_back(*instruction);
  });
}

}  // namespace

extern const Order chimera{"chimera", "two pipelines of 1f1b in opposite directions", lists};

}  // namespace pipetrain::orders
