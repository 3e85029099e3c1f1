// Keeps two trainings out of one folder.
#pragma once

#include <filesystem>
#include <utility>

namespace pipetrain {

// Held as long as this object exists, and released with the process however that ends; leaves no
// file. Reading in the folder needs no lock. On a file system without locks, there is none.
class RunLock {
 public:
  explicit RunLock(std::filesystem::path folder) : folder_(std::move(folder)) { take(); }
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  // Tries again, if the folder did not exist before. UsageError if another process holds the lock.
  void take();

 private:
  std::filesystem::path folder_;
  int file_ = -1;
};

}  // namespace pipetrain
