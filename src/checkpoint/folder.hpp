// The folder `checkpoints` of a run:
//
//   step-00001000/        a committed checkpoint: it got this name once all of it was on disk
//   step-00001100.part/   one that was being written, or removed, when the process ended
//   latest, best          the names of two of them, for people and scripts
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pipetrain {

std::string checkpoint_name(std::int64_t step);  // "step-00001000"

// Steps of the committed checkpoints, ascending; empty if there is no such folder. DeviceError if
// the folder cannot be read.
std::vector<std::int64_t> committed_checkpoints(const std::filesystem::path& checkpoints);

// Resolves what a user may name: a checkpoint, `latest` or `best`, or the folder of the checkpoints
// or of the run (then the newest). DataError if there is none.
std::filesystem::path find_checkpoint(const std::filesystem::path& named);

// Renames it to .part first, so that half a checkpoint never has the name of a whole one.
// DeviceError.
void remove_checkpoint(const std::filesystem::path& checkpoints, std::int64_t step);

// Removes whatever a process left half-written or half-removed. DeviceError.
void remove_leftovers(const std::filesystem::path& checkpoints);

struct KeepRule {
  std::int64_t latest = 2;           // how many of the newest
  std::optional<std::int64_t> best;  // and the one of this step
};
// Removes all others; returns their steps.
std::vector<std::int64_t> prune_checkpoints(const std::filesystem::path& checkpoints,
                                            const KeepRule& keep);

}  // namespace pipetrain
