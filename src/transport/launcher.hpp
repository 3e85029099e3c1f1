// What a launcher (mpirun, srun) says of the process that it started, in its environment: known
// without MPI, and in every build.
#pragma once

#include <string>

namespace pipetrain {

struct Launch {
  std::string launcher;  // "mpirun", "srun"; empty: none
  int rank = 0, ranks = 1;
  int ranks_here = 1;  // on this host
};

// Of Open MPI, of MPICH and whatever speaks PMI, of Slurm's srun.
Launch launch();

}  // namespace pipetrain
