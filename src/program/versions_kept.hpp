// How many versions of its weights a stage has to keep; the program alone determines it.
#pragma once

#include "program/program.hpp"

namespace pipetrain {

// Does the stage read weights that no update made?
bool mixes_weights(const Program& program, StageId stage);

// How many consecutive versions `stage` must keep so that every read finds its version.
int versions_kept(const Program& program, StageId stage);

}  // namespace pipetrain
