// The backends that a test is run on: the host's, or what PIPETRAIN_TEST_BACKENDS names (a comma
// between two), which is how suite gpu and the fake CUDA run the tests tagged [backends].
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace pipetrain::testing {

inline std::vector<std::string> backend_names() {
  const char* const named = std::getenv("PIPETRAIN_TEST_BACKENDS");
  if (!named) return {"reference", "cpu"};
  std::vector<std::string> names;
  std::istringstream list(named);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  return names;
}

// The fake CUDA is slow: a test of many trainings runs only some of them there.
inline bool has_time_for_all(const std::string& backend) { return backend != "cuda"; }

}  // namespace pipetrain::testing
