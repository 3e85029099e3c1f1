// What the instructions of one stage read, in short: "F0 F1 B0 F2@1 B1".
#pragma once

#include <string>

#include "program/program.hpp"
#include "program/text.hpp"

namespace pipetrain::test {

inline std::string reads(const Program& program, int stage) {
  std::string text;
  for (const auto& list : program.workers)
    for (const auto& i : list)
      if (i.stage.value == stage && reads_weights(i.op))
        text += (text.empty() ? "" : " ") + to_text(i).substr(std::to_string(stage).size());
  return text;
}

}  // namespace pipetrain::test
