#include "data/finite.hpp"

#include <algorithm>
#include <cmath>

namespace pipetrain {

namespace {

bool all_finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

}  // namespace

std::vector<SampleId> nonfinite_samples(const Dataset& dataset, std::span<const SampleId> samples) {
  if (dataset.input_shape().vocabulary > 0) return {};  // tokens and their classes are finite
  std::vector<float> input(dataset.input_shape().elements());
  std::vector<float> target;
  if (dataset.classes() == 0) target.resize(dataset.target_shape().elements());
  std::vector<std::int32_t> classes(dataset.labels());
  std::vector<SampleId> bad;
  for (const SampleId sample : samples) {
    dataset.read({.index = sample},
                 {.input = input.data(), .classes = classes.data(), .values = target.data()});
    if (!all_finite(input) || !all_finite(target)) bad.push_back(sample);
  }
  return bad;
}

}  // namespace pipetrain
