// The folder `checkpoints` of a run:
//
//   step-00001000/        a committed checkpoint: it got this name when all of it was on the disk
//   step-00001100.part/   one that was being written, or removed, when the process ended
//   latest, best          the names of two of them, for eyes and scripts
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pipetrain {

std::string checkpoint_name(std::int64_t step);  // "step-00001000"

// Steps of the committed checkpoints, ascending; none where there is no such folder. DeviceError
// where the folder cannot be read.
std::vector<std::int64_t> committed_checkpoints(const std::filesystem::path& checkpoints);

// What a user may name: a checkpoint, `latest` or `best`, the folder of checkpoints or of the run
// (then the newest is meant). DataError where none is there.
std::filesystem::path find_checkpoint(const std::filesystem::path& named);

// Renamed to .part first, so that half a checkpoint never has a whole one's name. DeviceError.
void remove_checkpoint(const std::filesystem::path& checkpoints, std::int64_t step);

// Whatever a process left half-written or half-removed. DeviceError.
void remove_leftovers(const std::filesystem::path& checkpoints);

struct KeepRule {
  std::int64_t latest = 2;           // this many of the newest
  std::optional<std::int64_t> best;  // and the one of this step
};
// Removes all others; returns their steps.
std::vector<std::int64_t> prune_checkpoints(const std::filesystem::path& checkpoints,
                                            const KeepRule& keep);

}  // namespace pipetrain
