// Saves checkpoints in the background: a thread of its own writes what was copied.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "checkpoint/folder.hpp"
#include "checkpoint/save.hpp"

namespace pipetrain {

struct SaveRule {
  std::filesystem::path checkpoints;  // the folder
  std::int64_t keep_latest = 2;
  bool keep_best = true;
  std::function<void()> before_commit;  // called by the writing thread first: flush what must be
};

struct Saved {
  std::int64_t step = 0;
  std::filesystem::path folder;
  std::uint64_t bytes = 0;
  double seconds = 0;  // of writing, in the background
};

// One save at a time. What a save met (DeviceError) is thrown by the next call of any function
// below; after it nothing is written any more. Threading: all calls from one thread.
class BackgroundSaver {
 public:
  explicit BackgroundSaver(SaveRule rule);
  ~BackgroundSaver();  // waits for the save under way

  // Hands over; waits only while the save before is not done.
  void save(Snapshot snapshot);
  // A save that has been committed and not been reported yet.
  std::optional<Saved> committed();
  void wait();  // until nothing is left to write

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipetrain
