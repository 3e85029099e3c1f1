// What a launcher (mpirun, srun) says in the environment of the process that it started: available
// in every build, without MPI.
#pragma once

#include <string>

namespace pipetrain {

struct Launch {
  std::string launcher;  // "mpirun", "srun"; empty if there is none
  int rank = 0, ranks = 1;
  int ranks_here = 1;  // on this host
  int rank_here = 0;   // this one's number among them
};

// Recognises Open MPI, MPICH and anything else that uses PMI, and Slurm's srun.
Launch launch();

}  // namespace pipetrain
