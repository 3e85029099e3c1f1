// Checkpoints of a training over ranks: each rank writes its own stages' files, and rank 0 commits
// them once all are on disk.
//
//   rank 0                                     another rank with stages
//   copies its stages, between two segments    copies its stages, between the same two
//   makes the folder, with a mark in it
//   says where it is  --------------------->   is the mark there?
//   writes its stages                            yes: writes its stages
//                                                no, the disk is another: writes nothing
//   takes the answers  <--------------------   sums of its files; or its tensors
//   writes the tensors that it got, commits
//
// Both sides do everything but the copies in a thread beside the training.
#pragma once

#include <filesystem>
#include <thread>
#include <vector>

#include "checkpoint/save.hpp"
#include "transport/job.hpp"

namespace pipetrain {

// Rank 0's part, for Snapshot::others; serves one save after another. Threading: one thread at a
// time.
class RankWriters {
 public:
  // `ranks`: the other ranks that have stages to save.
  RankWriters(Job& job, std::vector<int> ranks) : job_(job), ranks_(std::move(ranks)) {}

  // DeviceError.
  void begin(const std::filesystem::path& folder);
  // Waits for what each rank has written. Logs once per training which ranks could not write.
  // DeviceError, and the failure of another rank.
  OtherStages finish();

 private:
  Note take(int rank) const;
  void report_gathered(const std::vector<int>& ranks);

  Job& job_;
  const std::vector<int> ranks_;
  std::filesystem::path folder_;
  bool reported_ = false;
};

// The other ranks' part. A failure ends the job.
class StageSaver {
 public:
  explicit StageSaver(Job& job) : job_(job) {}
  ~StageSaver();  // waits for the save under way
  StageSaver(const StageSaver&) = delete;
  StageSaver& operator=(const StageSaver&) = delete;

  // All stages, in order; those of other ranks have no layers. Waits only for the previous save.
  void save(std::vector<StageTensors> stages);

 private:
  void write(std::vector<StageTensors> stages);

  Job& job_;
  std::thread writing_;
};

}  // namespace pipetrain
