#include "program/costs.hpp"

#include <cmath>
#include <numbers>

#include "base/rng.hpp"

namespace pipetrain {
namespace {

double compute_time(const StageCosts& costs, Op op) {
  switch (op) {
    case Op::Forward:
    case Op::Recompute:
      return costs.forward;
    case Op::BackwardHead:
      return costs.backward_input + costs.backward_weight - costs.tail;
    case Op::BackwardTail:
      return costs.tail;
    case Op::Backward:
      return costs.backward_input + costs.backward_weight;
    case Op::BackwardInput:
      return costs.backward_input;
    case Op::BackwardWeight:
      return costs.backward_weight + costs.split;
    default:
      return 0;
  }
}

// The work that one random factor applies to: a head and its tail are one backward, a
// recomputation is a forward of its own.
enum class Work { Forward, Recompute, Backward, WeightHalf };
Work work_of(Op op) {
  if (op == Op::Forward) return Work::Forward;
  if (op == Op::Recompute) return Work::Recompute;
  return without_update(op) == Op::BackwardWeight ? Work::WeightHalf : Work::Backward;
}

// Mean 0, deviation 1.
double normal(const std::array<std::uint32_t, 4>& bits) {
  const auto uniform = [](std::uint32_t high, std::uint32_t low) {
    return static_cast<double>((std::uint64_t{high} << 20 | low >> 12) + 1) * 0x1p-52;  // (0, 1]
  };
  return std::sqrt(-2 * std::log(uniform(bits[0], bits[1]))) *
         std::cos(2 * std::numbers::pi * uniform(bits[2], bits[3]));
}

}  // namespace

double time_of(const StageCosts& costs, Op op) {
  const double compute = compute_time(costs, without_update(op));
  return updates(op) ? compute + costs.update : compute;
}

double factor_of(const Disturbance& disturbance, WorkerId worker, StageId stage,
                 MicrobatchId microbatch, Op op) {
  const double slowdown = disturbance.slowdown.empty()
                              ? 1
                              : disturbance.slowdown[static_cast<std::size_t>(worker.value)];
  if (disturbance.jitter == 0) return slowdown;
  const auto stream =
      static_cast<std::uint64_t>(stage.value) << 2 | static_cast<std::uint64_t>(work_of(op));
  const double z =
      normal(philox(disturbance.seed, static_cast<std::uint64_t>(microbatch.value), stream));
  const double sigma = disturbance.jitter;
  return slowdown * std::exp(sigma * z - sigma * sigma / 2);
}

}  // namespace pipetrain
