// A training on the fake CUDA: what came out of it, and what the fake has found wrong.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "fake_cuda/runtime.hpp"
#include "runtime/training.hpp"

namespace pipetrain::testing {

struct OnFake {
  Trained trained;
  std::vector<std::string> findings;
};

inline OnFake train_on_fake(const fake_cuda::Options& options, TrainingSetup setup) {
  fake_cuda::set(options);
  const std::vector<std::string> devices = setup.config.hardware.devices;
  setup.make_backend = [devices](std::string_view name) { return make_backend(name, devices); };
  OnFake result;
  result.trained = train(setup);
  result.findings = fake_cuda::take_findings();
  return result;
}

inline bool same(const Trained& a, const Trained& b) {
  return a.losses == b.losses && a.norms == b.norms && same_bits(a.parameters, b.parameters);
}

}  // namespace pipetrain::testing
