// Cores that a process has to itself among those of pipetrain on a machine: runs side by side, as a
// sweep starts them, had better not be pinned to the same ones.
//
// Affinity and cgroups say which cores this process may use, not which of them another run has
// taken: two runs started alike are allowed the same cores and would pin their threads to the same
// first ones. What is claimed also decides whether waiting threads may spin or have to sleep
// (SleepingTeams). docs/sweeps.md has what either costs.
#pragma once

#include <string_view>
#include <vector>

namespace pipetrain {

// The cores that this process may run on, by the system's numbers; empty where that is unknown.
std::vector<int> allowed_cores();

class CoreClaims {
 public:
  CoreClaims() = default;
  // The first `count` allowed cores that nobody has claimed under this name; none where fewer are
  // free, or where the process is granted less time than its cores have: then others use them too.
  // Until the end of this object or of the process.
  explicit CoreClaims(int count, std::string_view name = "pipetrain");
  CoreClaims(CoreClaims&&) = delete;
  ~CoreClaims();

  const std::vector<int>& cores() const { return cores_; }
  bool others_hold_them() const { return others_hold_them_; }  // too few were free

 private:
  void release();

  std::vector<int> cores_, sockets_;
  bool others_hold_them_ = false;
};

}  // namespace pipetrain
