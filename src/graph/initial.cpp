#include "graph/initial.hpp"

#include "base/rng.hpp"
#include "graph/layer.hpp"

namespace pipetrain {

std::vector<float> initial_values(const Parameter& parameter, std::uint64_t seed) {
  std::vector<float> values(parameter.shape.elements());
  if (const auto* constant = std::get_if<Constant>(&parameter.initial)) {
    values.assign(values.size(), static_cast<float>(constant->value));
    return values;
  }
  Random random(seed, parameter.name);
  if (const auto* normal = std::get_if<Normal>(&parameter.initial)) {
    for (float& value : values) value = static_cast<float>(normal->std * random.normal());
    return values;
  }
  const double bound = std::get<Uniform>(parameter.initial).bound;
  for (float& value : values) value = static_cast<float>(random.uniform(-bound, bound));
  return values;
}

}  // namespace pipetrain
