// Cores that one pipetrain process has to itself among all of them on a machine: runs side by side,
// as a sweep starts them, should not be pinned to the same ones.
//
// Affinity and cgroups say which cores this process may use, not which of them another run has
// taken: two runs started alike are allowed the same cores and would both pin their threads to the
// first of them. The claims also decide whether waiting threads may spin or must sleep
// (SleepingTeams). docs/sweeps.md shows what each costs.
#pragma once

#include <string_view>
#include <vector>

namespace pipetrain {

// The cores that this process may run on, by the system's numbers; empty if unknown.
std::vector<int> allowed_cores();

class CoreClaims {
 public:
  CoreClaims() = default;
  // Claims the first `count` allowed cores that no process has claimed under this name, until the
  // end of this object or of the process. Claims none if fewer are free, or if the process is
  // granted less time than its cores have: others then use them too.
  explicit CoreClaims(int count, std::string_view name = "pipetrain");
  CoreClaims(CoreClaims&&) = delete;
  ~CoreClaims();

  const std::vector<int>& cores() const { return cores_; }
  bool others_hold_them() const { return others_hold_them_; }  // if too few were free

 private:
  void release();

  std::vector<int> cores_, sockets_;
  bool others_hold_them_ = false;
};

}  // namespace pipetrain
