// Data parallelism: Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel
// Training" (arXiv 2006.15704, section 2). No pipeline: each of P workers holds the whole model as
// one stage, and takes every P-th micro-batch, forward and backward. Before an update the gradients
// of all copies are summed, so the copies stay equal.
//
// 3 workers, 6 micro-batches, forward and backward take equal time:
//   worker 0  0F0 0B0 0F3 0B3|
//   worker 1  0F1 0B1 0F4 0B4|
//   worker 2  0F2 0B2 0F5 0B5|
#include "order/parts.hpp"

namespace pipetrain::orders {

extern const Order data_parallel{
    "data_parallel", "a copy of the whole model on every worker", [](const OrderInput& input) {
      std::vector<WorkerId> copies;
      for (int w = 0; w < input.stages; ++w) copies.push_back({w});
      return placed(input, {copies}, [&](ComputeList& list, int worker) {
        for (int m = worker; m < input.microbatches; m += input.stages) {
          list.push_back(forward({0}, m));
          list.push_back(backward({0}, m));
        }
      });
    }};

}  // namespace pipetrain::orders
