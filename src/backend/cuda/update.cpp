// sgd: Sutskever et al. 2013 in PyTorch's form (the rate multiplies the velocity, no dampening).
// adam: Kingma and Ba 2015, Algorithm 1, weight decay as L2 in the gradient.
// adamw: Loshchilov and Hutter 2019, Algorithm 2, weight decay separate from the gradient.
// Constants, the same for all elements, are computed here in f64.
#include "backend/cuda/update.hpp"

#include <array>
#include <cmath>

#include "backend/cuda/device/elementwise.hpp"
#include "backend/cuda/device/optimizer.hpp"
#include "backend/cuda/device/reduce.hpp"
#include "base/bytes_of.hpp"

namespace pipetrain::cuda {
namespace {

float single(double x) { return static_cast<float>(x); }

DeltaStep delta_step(const UpdateRule& rule) {
  return {.decay = single(rule.delta_decay),
          .rest = single(1 - rule.delta_decay),
          .correction = single(rule.correction)};
}

SgdStep sgd_step(const UpdateRule& rule) {
  return {.kind = rule.momentum == 0 ? SgdStep::Plain
                  : rule.nesterov    ? SgdStep::Nesterov
                                     : SgdStep::Momentum,
          .lr = single(rule.lr),
          .decay = single(rule.weight_decay),
          .momentum = single(rule.momentum),
          .scale = single(rule.gradient_scale),
          .delta = delta_step(rule)};
}

AdamStep adam_step(const UpdateRule& rule) {
  const auto step = static_cast<double>(rule.step);
  const double unbias1 = 1 - std::pow(rule.beta1, step), unbias2 = 1 - std::pow(rule.beta2, step);
  const bool decoupled = rule.kind == UpdateRule::Kind::AdamW;
  return {.scale = single(rule.gradient_scale),
          .decay = single(decoupled ? 0 : rule.weight_decay),
          .keep = single(decoupled ? 1 - rule.lr * rule.weight_decay : 1),
          .beta1 = single(rule.beta1),
          .rest1 = single(1 - rule.beta1),
          .beta2 = single(rule.beta2),
          .rest2 = single(1 - rule.beta2),
          .rate = single(rule.lr / unbias1),
          .root = single(1 / std::sqrt(unbias2)),
          .eps = single(rule.eps),
          .delta = delta_step(rule)};
}

}  // namespace

void update(DeviceStream& stream, const UpdateRule& rule, const UpdateArguments& a) {
  if (a.sum_of_squares) sum_of_squares(stream, a.gradient, a.elements, a.sum_of_squares);
  const Parameters parameters{.elements = a.elements,
                              .weights = a.weights,
                              .gradient = a.gradient,
                              .new_weights = a.new_weights,
                              .first_moment = a.first_moment,
                              .second_moment = a.second_moment,
                              .delta = a.delta,
                              .corrected = a.corrected};
  if (rule.kind == UpdateRule::Kind::Sgd)
    sgd(stream.handle(), sgd_step(rule), parameters);
  else
    adam(stream.handle(), adam_step(rule), parameters);
}

void combine(DeviceStream& stream, const Combination& c) {
  combine(stream.handle(), single(c.a), c.x, single(c.b), c.y, c.result, c.elements);
}

// The sum is made in the first part, then copied to the others, which may be on other devices.
void add_up(DeviceStream& stream, const Summation& s) {
  sum(stream.handle(), s.parts, s.parts[0], s.elements, false);
  for (float* const part : s.parts.subspan(1))
    stream.copy(part, s.parts[0], bytes_of<float>(s.elements));
}

void sum_of_squares(DeviceStream& stream, const float* values, std::int64_t elements,
                    double* result) {
  sum_of_squares({stream.handle(), stream.partial_sums()}, values, elements, result);
}

void add_values(DeviceStream& stream, float* a, const float* b, std::int64_t elements) {
  sum(stream.handle(), std::array<const float*, 2>{a, b}, a, elements, false);
}

}  // namespace pipetrain::cuda
