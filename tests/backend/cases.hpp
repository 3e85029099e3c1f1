// The graphs that the backend tests run, on every backend that backends.hpp names.
#pragma once

#include <string>
#include <vector>

#include "backends.hpp"
#include "graph/graph.hpp"
#include "harness.hpp"

namespace pipetrain::testing {

struct Case {
  std::string name;
  Graph graph;
  int samples = 1;
  Mode mode = Mode::Train;
};

inline Shape token_sequence(std::int64_t length, std::int64_t vocabulary) {
  return {{length}, vocabulary};
}

std::vector<Case> layer_cases();            // one layer each, in several shapes
std::vector<Case> sequence_layer_cases();   // those of language models
std::vector<Case> recurrent_layer_cases();  // those of recurrent translation
std::vector<Case> chain_cases();  // small graphs, where a backend fuses and chooses layouts
std::vector<Case> sequence_chain_cases();
std::vector<Case> recurrent_chain_cases();

}  // namespace pipetrain::testing
