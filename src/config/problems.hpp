// Everything that is wrong with a config: collected while reading, reported together.
#pragma once

#include <string>
#include <vector>

namespace pipetrain::config {

// Where something was written. Places sort in the order in which a reader comes across them.
struct Place {
  int source = 0;            // number of the file; all --set options are one, after the last
  int line = 0, column = 0;  // from 1; 0 for --set, which has neither
  std::string name;          // "configs/quickstart.toml" or "--set pipeline.stages"

  std::string text() const;  // "configs/quickstart.toml:12:3"
  bool operator<(const Place& other) const;
};

struct Problem {
  Place place;
  std::string what;     // is wrong
  std::string instead;  // what to write; empty if `what` says it
};

using Problems = std::vector<Problem>;

// Throws a UsageError with one line per problem, in the order of their places. Does nothing if
// there are none.
void raise(Problems problems);

}  // namespace pipetrain::config
