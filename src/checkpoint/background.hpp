// Saves checkpoints in the background: a separate thread writes a copy of the state.
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
  std::function<void()> before_commit;  // first, by the writing thread: flushes what must be
};

struct Saved {
  std::int64_t step = 0;
  std::filesystem::path folder;
  std::uint64_t bytes = 0;
  double seconds = 0;  // spent writing in the background
};

// One save at a time. If a save fails, the next call of any function below throws its DeviceError,
// and nothing more is written. Threading: all calls from one thread.
class BackgroundSaver {
 public:
  explicit BackgroundSaver(SaveRule rule);
  ~BackgroundSaver();  // waits for a save under way

  // Hands over the snapshot; waits only if the previous save is not done.
  void save(Snapshot snapshot);
  // The next save that has been committed and not yet been returned here.
  std::optional<Saved> committed();
  void wait();  // until nothing is left to write

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipetrain
