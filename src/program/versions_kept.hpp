// How many versions of its weights a stage has to keep, from the program alone.
#pragma once

#include "program/program.hpp"

namespace pipetrain {

// Does the stage read weights that no update made?
bool mixes_weights(const Program& program, StageId stage);

// How many consecutive versions `stage` must keep, so that every read of the program finds its own.
int versions_kept(const Program& program, StageId stage);

}  // namespace pipetrain
