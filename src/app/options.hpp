// What the command line says, one plain struct for every verb.
#pragma once

#include <string>

namespace pipetrain {

struct Options {
  std::string name;  // schedule: which
  int stages = 4;
  int microbatches = 8;
  int steps = 1;
  int virtual_stages = 1;
  std::string warmup = "1f1b";
  bool vertical_sync = false;
  std::string times;  // empty: not given
  std::string format = "text";
};

}  // namespace pipetrain
