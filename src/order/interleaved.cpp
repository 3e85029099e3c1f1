// Interleaved 1F1B: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
// Clusters Using Megatron-LM" (arXiv 2104.04473, section 2.2). The model is cut into P V stages, V
// virtual stages per worker: worker w holds the stages w, P+w, 2P+w, .. Micro-batches pass in
// groups of P through one virtual stage after the other, forwards and backwards alternately as
// under 1f1b. The pipeline fills in steps of 1/V of the work, so the bubble is 1/V of 1f1b's, at
// the price of V times the transfers and more micro-batches in flight.
//
// 2 workers, 2 virtual stages, 4 micro-batches, forward and backward take equal time; 2F0 is stage
// 2's:
//   worker 0  0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1   . 2B2   . 2B3|0B2 0B3|
//   worker 1    . 1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3|1B2 1B3|
#include <algorithm>

#include "order/parts.hpp"

namespace pipetrain::orders {
namespace {

struct Turns {
  int workers, virtual_stages, worker;

  // The worker's k-th forward or backward in a mini-batch: which virtual stage, which micro-batch.
  // Backwards take the virtual stages from the last to the first.
  int virtual_stage(int k) const { return k % (workers * virtual_stages) / workers; }
  int microbatch(int k) const { return k / (workers * virtual_stages) * workers + k % workers; }
  StageId stage(int of) const { return {of * workers + worker}; }
};

void append(ComputeList& list, const Turns& turns, int count) {
  const int last = turns.virtual_stages - 1, total = count * turns.virtual_stages;
  const int warmup = std::min(2 * (turns.workers - 1 - turns.worker) + last * turns.workers, total);
  for (int k = 0; k < total + warmup; ++k) {
    if (k < total)
      list.push_back(forward(turns.stage(turns.virtual_stage(k)), turns.microbatch(k)));
    if (const int b = k - warmup; b >= 0)
      list.push_back(backward(turns.stage(last - turns.virtual_stage(b)), turns.microbatch(b)));
  }
}

CompactOrder lists(const OrderInput& input) {
  std::vector<std::vector<WorkerId>> placement;
  for (int s = 0; s < input.stages * input.virtual_stages; ++s)
    placement.push_back({WorkerId{s % input.stages}});
  return placed(input, std::move(placement), [&](ComputeList& list, int worker) {
    append(list, {input.stages, input.virtual_stages, worker}, input.microbatches);
  });
}

}  // namespace

extern const Order interleaved{
    "interleaved",
    "1f1b over several stages per worker, in groups of as many micro-batches as workers", lists};

}  // namespace pipetrain::orders
