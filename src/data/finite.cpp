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
  std::vector<float> input(static_cast<std::size_t>(dataset.input_shape().elements()));
  std::vector<float> target;
  if (dataset.classes() == 0)
    target.resize(static_cast<std::size_t>(dataset.target_shape().elements()));
  std::int32_t target_class = 0;
  std::vector<SampleId> bad;
  for (const SampleId sample : samples) {
    dataset.read(sample, input.data(), &target_class, target.data());
    if (!all_finite(input) || !all_finite(target)) bad.push_back(sample);
  }
  return bad;
}

}  // namespace pipetrain
