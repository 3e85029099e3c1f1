// sgd: Sutskever et al. 2013 in PyTorch's form (the rate multiplies the velocity, no dampening).
// adam: Kingma and Ba 2015, Algorithm 1, weight decay as L2 in the gradient.
// adamw: Loshchilov and Hutter 2019, Algorithm 2, weight decay separate from the gradient.
#include "backend/reference/update.hpp"

#include <cmath>

namespace pipetrain::reference {
namespace {

double sgd(const UpdateRule& rule, double weight, double gradient, float* velocity) {
  double g = gradient + rule.weight_decay * weight;
  if (rule.momentum != 0) {
    const double v = rule.momentum * *velocity + g;
    *velocity = static_cast<float>(v);
    g = rule.nesterov ? g + rule.momentum * v : v;
  }
  return weight - rule.lr * g;
}

double adam(const UpdateRule& rule, double weight, double gradient, float& first, float& second) {
  const auto step = static_cast<double>(rule.step);
  const double m = rule.beta1 * first + (1 - rule.beta1) * gradient;
  const double v = rule.beta2 * second + (1 - rule.beta2) * gradient * gradient;
  first = static_cast<float>(m);
  second = static_cast<float>(v);
  const double mean = m / (1 - std::pow(rule.beta1, step));
  const double deviation = std::sqrt(v / (1 - std::pow(rule.beta2, step)));
  return weight - rule.lr * mean / (deviation + rule.eps);
}

double next_weight(const UpdateRule& rule, const UpdateArguments& a, std::int64_t i) {
  const double weight = a.weights[i], gradient = rule.gradient_scale * a.gradient[i];
  switch (rule.kind) {
    case UpdateRule::Kind::Sgd:
      return sgd(rule, weight, gradient, rule.momentum != 0 ? &a.first_moment[i] : nullptr);
    case UpdateRule::Kind::Adam:
      return adam(rule, weight, gradient + rule.weight_decay * weight, a.first_moment[i],
                  a.second_moment[i]);
    case UpdateRule::Kind::AdamW:
      return adam(rule, weight * (1 - rule.lr * rule.weight_decay), gradient, a.first_moment[i],
                  a.second_moment[i]);
  }
  return weight;
}

}  // namespace

void update(const UpdateRule& rule, const UpdateArguments& a) {
  for (std::int64_t i = 0; i < a.elements; ++i) {
    const float old = a.weights[i];
    a.new_weights[i] = static_cast<float>(next_weight(rule, a, i));
    if (!a.delta) continue;
    const double motion = static_cast<double>(a.new_weights[i]) - old;
    a.delta[i] =
        static_cast<float>(rule.delta_decay * a.delta[i] + (1 - rule.delta_decay) * motion);
    if (a.corrected)
      a.corrected[i] = static_cast<float>(a.new_weights[i] - rule.correction * a.delta[i]);
  }
}

void combine(const Combination& c) {
  for (std::int64_t i = 0; i < c.elements; ++i)
    c.result[i] = static_cast<float>(c.a * c.x[i] + c.b * c.y[i]);
}

void add_up(const Summation& s) {
  for (std::int64_t i = 0; i < s.elements; ++i) {
    float sum = s.parts[0][i];
    for (const float* const part : s.parts.subspan(1)) sum += part[i];
    for (float* const part : s.parts) part[i] = sum;
  }
}

}  // namespace pipetrain::reference
