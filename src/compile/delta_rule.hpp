// PipeMare, section 3.2 (T2): whether and how a stage keeps delta, the mean motion of its weights.
#pragma once

namespace pipetrain {

// How a stage keeps up delta (PipeMare, section 3.2).
struct DeltaRule {
  bool keeps = false;
  double decay = 0;       // gamma of the stage
  double correction = 0;  // updates that every backward is set back by; 0: differs, made when read
};

}  // namespace pipetrain
