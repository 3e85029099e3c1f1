// Runs the built binary by a shell line: exit code, standard output, standard error.
#pragma once

#include <string>

struct Ran {
  int code = -1;  // 128 + n if signal n ended it
  std::string out, err;
};

// `arguments` follow the binary's path in a shell line, so they may redirect and pipe. `before`
// comes in front of the path: "ulimit -n 10;". Both find the binary in $PIPETRAIN_BINARY.
Ran run_binary(const std::string& arguments, const std::string& before = "");
