// What two runs of a task are compared by.
#pragma once

#include "backend/harness.hpp"
#include "catch.hpp"

namespace pipetrain::testing {

inline void check_same_bits(const Outcome& a, const Outcome& b) {
  REQUIRE(a.microbatches.size() == b.microbatches.size());
  for (std::size_t m = 0; m < a.microbatches.size(); ++m) {
    CHECK(a.microbatches[m].output == b.microbatches[m].output);
    CHECK(a.microbatches[m].input_gradient == b.microbatches[m].input_gradient);
    CHECK(a.microbatches[m].loss.sum == b.microbatches[m].loss.sum);
  }
  CHECK(a.gradients == b.gradients);
  CHECK(a.buffers == b.buffers);
}

inline void check_close(const Outcome& ours, const Outcome& theirs) {
  for (std::size_t m = 0; m < theirs.microbatches.size(); ++m) {
    CHECK(difference(ours.microbatches[m].output, theirs.microbatches[m].output) <= 1e-5);
    CHECK(difference(ours.microbatches[m].input_gradient, theirs.microbatches[m].input_gradient) <=
          1e-5);
  }
  for (const auto& [name, gradient] : theirs.gradients) {
    INFO(name);
    CHECK(difference(ours.gradients.at(name), gradient) <= 1e-5);
  }
}

}  // namespace pipetrain::testing
