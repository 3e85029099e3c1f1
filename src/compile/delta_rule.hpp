// PipeMare, section 3.2 (T2): what a stage keeps of the mean motion of its weights.
#pragma once

namespace pipetrain {

// How a stage keeps up the mean motion of its weights (PipeMare, section 3.2).
struct DeltaRule {
  bool keeps = false;
  double decay = 0;       // gamma of the stage
  double correction = 0;  // updates that every backward is set back by; 0: differs, made when read
};

}  // namespace pipetrain
