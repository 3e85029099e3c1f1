// Replaces mpi_wire.cpp in a build without MPI.
#include "base/error.hpp"
#include "transport/wire.hpp"

namespace pipetrain {

std::unique_ptr<RankWire> make_mpi_wire() {
  throw UsageError(
      "this pipetrain was built without MPI and cannot run as one of several processes: install an "
      "MPI with its headers (on Debian libopenmpi-dev and openmpi-bin), build again with "
      "-Dmpi=enabled, or start it without mpirun or srun");
}

std::string mpi_version() { return "none"; }

}  // namespace pipetrain
