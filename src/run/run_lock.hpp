// Keeps two trainings out of one folder.
#pragma once

#include <filesystem>
#include <utility>

namespace pipetrain {

// Held as long as this lives, gone with the process however that ends; leaves no file. Reading in
// the folder needs no lock. Where the file system has no locks, there is none.
class RunLock {
 public:
  explicit RunLock(std::filesystem::path folder) : folder_(std::move(folder)) { take(); }
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  // Once more, where the folder was not there before. UsageError where another process holds it.
  void take();

 private:
  std::filesystem::path folder_;
  int file_ = -1;
};

}  // namespace pipetrain
