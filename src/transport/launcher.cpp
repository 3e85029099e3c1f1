#include "transport/launcher.hpp"

#include <cstdlib>
#include <optional>

namespace pipetrain {
namespace {

std::optional<int> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (!text || !*text) return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end != '\0' || value < 0 || value > 1'000'000) return std::nullopt;
  return static_cast<int>(value);
}

struct Variables {
  const char *launcher, *ranks, *rank, *ranks_here;
};

// A Slurm batch script has SLURM_NTASKS too; only what srun starts has the number of a step.
constexpr Variables known[] = {
    {"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"mpirun", "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS"},
    {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_STEP_TASKS_PER_NODE"},
};

}  // namespace

Launch launch() {
  for (const Variables& v : known)
    if (const auto ranks = number_in(v.ranks); ranks && *ranks > 1)
      return {v.launcher, number_in(v.rank).value_or(0), *ranks,
              number_in(v.ranks_here).value_or(1)};
  return {};
}

}  // namespace pipetrain
