// How large a learning rate may be before training with late gradients diverges.
//
// Near a minimum the loss is quadratic. Along the direction of its largest curvature, lambda, sgd
// with gradients that are `tau` updates old is the recurrence
//
//   w[t + 1] = w[t] - rate lambda w[t - tau]
//   stable iff rate < (2 / lambda) sin(pi / (4 tau + 2))
//
// (PipeMare, arXiv 1910.05124, section 3.1, gives the recurrence). Stages have different delays,
// and each a share of the direction: then x - 1 + rate lambda sum(share x^-delay) must have its
// roots within the unit circle, and the first rate at which one reaches the circle is the edge.
#pragma once

#include <vector>

namespace pipetrain {

struct DelayedShare {
  double share = 1;  // of the squared direction; all shares add up to 1
  double delay = 0;  // updates between a gradient's weights and those that it is applied to
};

struct Momentum {
  double factor = 0;  // at least 0, below 1
  bool nesterov = false;
};

// The largest stable rate at a curvature of 1: divide it by the curvature. `shares`: at least one
// above 0, no negative delays. Exact for whole delays; in between, below the true edge.
double stable_rate(const std::vector<DelayedShare>& shares, const Momentum& momentum = {});

}  // namespace pipetrain
