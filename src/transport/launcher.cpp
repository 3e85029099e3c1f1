#include "transport/launcher.hpp"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace pipetrain {
namespace {

std::string_view text_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? text : "";
}

// Takes it from the text's begin.
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || value > 1'000'000) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<int> number_in(const char* variable) {
  std::string_view text = text_in(variable);
  const auto value = take_number(text);
  return text.empty() ? value : std::nullopt;
}

// Slurm's "4(x2),3": two hosts with four ranks each, then one with three.
std::optional<int> ranks_of_host(std::string_view hosts, int host) {
  while (const auto ranks = take_number(hosts)) {
    int alike = 1;
    if (hosts.starts_with("(x")) {
      hosts.remove_prefix(2);
      const auto count = take_number(hosts);
      if (!count || !hosts.starts_with(')')) return std::nullopt;
      alike = *count;
      hosts.remove_prefix(1);
    }
    if (host < alike) return ranks;
    host -= alike;
    if (!hosts.starts_with(',')) return std::nullopt;
    hosts.remove_prefix(1);
  }
  return std::nullopt;
}

std::optional<int> slurms_ranks_here() {
  const auto host = number_in("SLURM_NODEID");
  return host ? ranks_of_host(text_in("SLURM_STEP_TASKS_PER_NODE"), *host) : std::nullopt;
}

struct Here {
  std::optional<int> ranks, rank;
};

std::optional<Launch> launch_by(const char* launcher, const char* ranks, const char* rank,
                                const Here& here) {
  const auto count = number_in(ranks);
  if (!count || *count == 1) return std::nullopt;
  return Launch{launcher, number_in(rank).value_or(0), *count, here.ranks.value_or(1),
                here.rank.value_or(0)};
}

}  // namespace

// Launchers start each other: Open MPI's and MPICH's mpirun reach the hosts of a Slurm job by srun,
// and srun has PMI's variables too where it serves PMI. A Slurm batch script has SLURM_NTASKS; only
// what srun starts has the number of a step.
Launch launch() {
  if (const auto by_open_mpi = launch_by(
          "mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
          {number_in("OMPI_COMM_WORLD_LOCAL_SIZE"), number_in("OMPI_COMM_WORLD_LOCAL_RANK")}))
    return *by_open_mpi;
  if (const auto here = number_in("MPI_LOCALNRANKS"))
    if (const auto by_mpich =
            launch_by("mpirun", "PMI_SIZE", "PMI_RANK", {here, number_in("MPI_LOCALRANKID")}))
      return *by_mpich;
  if (const auto by_slurm = launch_by("srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID",
                                      {slurms_ranks_here(), number_in("SLURM_LOCALID")}))
    return *by_slurm;
  return launch_by("mpirun", "PMI_SIZE", "PMI_RANK", {}).value_or(Launch{});
}

}  // namespace pipetrain
