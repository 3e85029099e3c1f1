// Recomputation in segments of several stages (PipeMare-Recompute: Yang et al., arXiv 1910.05124):
// only the first stage of a segment keeps its inputs. Before a micro-batch's backward reaches the
// segment, the first stage runs its forward again and sends what comes out to the second, which
// does the same, and so on: each stage gets its activations back in time for its own backward.
//
//   2 stages, one segment, full warm-up (B, R, F of one slot side by side in the paper):
//     stage 0  F0 F1 R0 F2 R1 F3 R2 B0 F4 R3 B1 F5 R4 B2 ..
//     stage 1     F0 F1 R0 B0 F2 R1 B1 F3 R2 B2 F4 R3 B3 ..
//
// Of P stages in segments of S, stages then keep some P^2/S inputs and P S activations in all,
// where without recomputation they keep P^2 activations.
#pragma once

#include "program/program.hpp"

namespace pipetrain {

// Adds to a program of the full warm-up (`Warmup::Full`) of one stage per worker, whose versions
// are bound, each micro-batch's recomputation and the transfers within segments. Stage s of a
// segment that ends with stage e recomputes 2(e - s) micro-batches ahead of its backwards.
//
// It recomputes with the weights that the forward read if the program keeps them for the backward.
// Otherwise with the newest, set back along their motion as the backward's are, by the updates
// between the forward and the recomputation.
Program add_segment_recomputes(Program program, int segment_stages);

// Does the stage keep no input, but receive it again for its recomputation?
bool receives_again(const Program& program, StageId stage);

}  // namespace pipetrain
