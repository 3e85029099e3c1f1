#include "transport/launcher.hpp"

#include <cstdlib>
#include <map>
#include <string>

#include "catch.hpp"

using namespace pipetrain;

namespace {

using Variables = std::map<std::string, std::string>;

// With these of the launchers' variables and no others.
Launch launch_with(const Variables& set) {
  const char* const known[] = {"OMPI_COMM_WORLD_SIZE",
                               "OMPI_COMM_WORLD_RANK",
                               "OMPI_COMM_WORLD_LOCAL_SIZE",
                               "OMPI_COMM_WORLD_LOCAL_RANK",
                               "PMI_SIZE",
                               "PMI_RANK",
                               "MPI_LOCALNRANKS",
                               "MPI_LOCALRANKID",
                               "SLURM_STEP_NUM_TASKS",
                               "SLURM_PROCID",
                               "SLURM_NODEID",
                               "SLURM_LOCALID",
                               "SLURM_STEP_TASKS_PER_NODE"};
  for (const char* const name : known) ::unsetenv(name);
  for (const auto& [name, value] : set) ::setenv(name.c_str(), value.c_str(), 1);
  const Launch found = launch();
  for (const char* const name : known) ::unsetenv(name);
  return found;
}

void check(const Variables& set, const Launch& expected) {
  INFO((set.empty() ? "nothing" : set.begin()->first + "=" + set.begin()->second));
  const Launch found = launch_with(set);
  CHECK(found.launcher == expected.launcher);
  CHECK(found.rank == expected.rank);
  CHECK(found.ranks == expected.ranks);
  CHECK(found.ranks_here == expected.ranks_here);
  CHECK(found.rank_here == expected.rank_here);
}

Variables slurm(const std::string& rank, const std::string& host, const std::string& hosts) {
  return {{"SLURM_STEP_NUM_TASKS", "11"},
          {"SLURM_PROCID", rank},
          {"SLURM_NODEID", host},
          {"SLURM_STEP_TASKS_PER_NODE", hosts}};
}

Variables with(Variables some, const Variables& more) {
  some.insert(more.begin(), more.end());
  return some;
}

}  // namespace

TEST_CASE("a process that no launcher started is the only rank") {
  check({}, {});
  check({{"SLURM_NTASKS", "4"}}, {});
  check({{"PMI_SIZE", "1"}, {"PMI_RANK", "0"}}, {});
  check({{"PMI_SIZE", "many"}, {"PMI_RANK", "0"}}, {});
}

TEST_CASE("each launcher says which rank this is, of how many, and how many are on its host") {
  check({{"OMPI_COMM_WORLD_SIZE", "4"},
         {"OMPI_COMM_WORLD_RANK", "3"},
         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}},
        {"mpirun", 3, 4, 2, 1});
  check({{"PMI_SIZE", "4"}, {"PMI_RANK", "1"}, {"MPI_LOCALNRANKS", "3"}, {"MPI_LOCALRANKID", "2"}},
        {"mpirun", 1, 4, 3, 2});
  check({{"PMI_SIZE", "4"}, {"PMI_RANK", "1"}}, {"mpirun", 1, 4, 1});
  check(slurm("5", "1", "4(x2),3"), {"srun", 5, 11, 4});
  check(slurm("8", "2", "4(x2),3"), {"srun", 8, 11, 3});
  check(slurm("10", "1", "1,10"), {"srun", 10, 11, 10});
  check(slurm("0", "0", "11"), {"srun", 0, 11, 11});
  check(with(slurm("5", "1", "4(x2),3"), {{"SLURM_LOCALID", "1"}}), {"srun", 5, 11, 4, 1});
  for (const char* const wrong : {"", "4(x2", "4(x),3", "4(x2)3", "x", "4"})
    check(slurm("5", "2", wrong), {"srun", 5, 11, 1});
}

TEST_CASE("the launcher that started this process counts, not one that started that one") {
  const Variables daemon = slurm("1", "1", "1(x2)");
  check(with(daemon, {{"OMPI_COMM_WORLD_SIZE", "8"},
                      {"OMPI_COMM_WORLD_RANK", "6"},
                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}),
        {"mpirun", 6, 8, 4});
  check(with(daemon, {{"PMI_SIZE", "8"}, {"PMI_RANK", "6"}, {"MPI_LOCALNRANKS", "4"}}),
        {"mpirun", 6, 8, 4});
  // PMI that srun serves itself.
  check(with(slurm("6", "1", "4(x2),3"), {{"PMI_SIZE", "11"}, {"PMI_RANK", "6"}}),
        {"srun", 6, 11, 4});
}
