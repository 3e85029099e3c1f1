// Checkpoints of a training over ranks: each rank writes its own stages' files, and rank 0 commits
// them once all are on the disk.
//
//   rank 0                                     another rank with stages
//   copies its stages, between two segments    copies its stages, between the same two
//   makes the folder, with a mark in it
//   says where it is  --------------------->   is the mark there?
//   writes its stages                          yes: writes its stages; no: this host has another
//   disk takes the answers  <--------------------   sums of its files; or the tensors, for rank 0
//   to write writes the rest, commits
//
// Both sides do all but the copies in a thread beside the training.
#pragma once

#include <filesystem>
#include <thread>
#include <vector>

#include "checkpoint/save.hpp"
#include "transport/job.hpp"

namespace pipetrain {

// Rank 0's, for Snapshot::others: of one save after the other. Threading: one thread at a time.
class RankWriters {
 public:
  // The other ranks that have stages to save.
  RankWriters(Job& job, std::vector<int> ranks) : job_(job), ranks_(std::move(ranks)) {}

  // DeviceError.
  void begin(const std::filesystem::path& folder);
  // Takes what each has written; what one could not, it says once for all saves. DeviceError, and
  // the failure of another rank.
  OtherStages finish();

 private:
  Note take(int rank) const;
  void report_gathered(const std::vector<int>& ranks);

  Job& job_;
  const std::vector<int> ranks_;
  std::filesystem::path folder_;
  bool reported_ = false;
};

// Another rank's. What it meets ends the job.
class StageSaver {
 public:
  explicit StageSaver(Job& job) : job_(job) {}
  ~StageSaver();  // waits for the save under way
  StageSaver(const StageSaver&) = delete;
  StageSaver& operator=(const StageSaver&) = delete;

  // Numbered stages, those of other ranks without layers. Waits only for the save before.
  void save(std::vector<StageTensors> stages);

 private:
  void write(std::vector<StageTensors> stages);

  Job& job_;
  std::thread writing_;
};

}  // namespace pipetrain
