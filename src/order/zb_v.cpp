// ZB-V: Qi et al., "Zero Bubble Pipeline Parallelism" (arXiv 2401.10241, ZB-V). The model is cut
// into 2P stages, and worker r of P holds the stages r and 2P-1-r: a micro-batch goes down the
// workers and up again, like a V. The loss is on worker 0, which can go backward at once. With
// backwards in halves (I for the previous stage, W for the update) a worker that has begun never
// waits, and every worker keeps the same number of micro-batches: that of 1f1b's first stage.
//
// 2 workers, 3 micro-batches, forward and both halves take equal time; 3F0 is stage 3's forward:
//   worker 0  0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0I0 0W0 3F2 3I2 3W2|0I1 0W1 0I2 0W2|
//   worker 1    . 1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1I1 2I2 1I2 1W1 2W2|1W2|
#include <algorithm>

#include "order/parts.hpp"

namespace pipetrain::orders {
namespace {

// One worker's list for one mini-batch. The pattern is that of at least 2P-1 micro-batches; those
// that the mini-batch does not have are left out.
struct Worker {
  ComputeList& list;
  int count;             // of the mini-batch's micro-batches
  StageId stage[2];      // on the way down and up
  int forwards[2] = {};  // done on each stage
  int inputs[2] = {};    // input halves
  int weights[2] = {};

  void f(int way) { put(forward, way, forwards[way]++); }
  void i(int way) { put(backward_input, way, inputs[way]++); }
  void w(int way) { put(backward_weight, way, weights[way]++); }
  void b(int way) { i(way), w(way); }

  void put(ComputeInstruction (*make)(StageId, int), int way, int number) {
    if (number < count) list.push_back(make(stage[way], number));
  }
};

void append(Worker worker, int r, int p) {
  const int n = std::max(2 * p - 1, worker.count), down = 0, up = 1;
  for (int k = 0; k < 2 * (p - r) - 1; ++k) worker.f(down);
  for (int k = 0; k < r; ++k) worker.f(up), worker.f(down);
  for (int k = 0; k < p - r; ++k) worker.f(up), worker.b(up);
  while (worker.forwards[up] < worker.forwards[down] || worker.forwards[down] < n) {
    if (worker.forwards[down] < n) worker.f(down);
    worker.b(down);
    worker.f(up);
    worker.b(up);
  }
  for (int k = 0; k < r; ++k) worker.i(down), worker.i(up);
  for (int k = 0; k < p - r; ++k) worker.b(down);
  while (worker.weights[up] < n) worker.w(up);
  while (worker.weights[down] < n) worker.w(down);
}

CompactOrder lists(const OrderInput& input) {
  const int p = input.stages;
  std::vector<std::vector<WorkerId>> placement;
  for (int s = 0; s < 2 * p; ++s) placement.push_back({WorkerId{std::min(s, 2 * p - 1 - s)}});
  return placed(input, std::move(placement), [&](ComputeList& list, int r) {
    append({list, input.microbatches, {{r}, {2 * p - 1 - r}}}, r, p);
  });
}

}  // namespace

extern const Order zb_v{"zb_v", "down the workers and up again, backwards in halves", lists};

}  // namespace pipetrain::orders
