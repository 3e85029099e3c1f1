// manifest.json: what a checkpoint is, which files belong to it, and how to check that they are
// intact. Written last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/output_file.hpp"

namespace pipetrain {

struct ValidationResult {
  std::int64_t step = 0, epoch = 0;     // step: in mini-batches trained
  double loss = 0;                      // mean over the validation set
  std::optional<double> accuracy = {};  // 0..1
  std::optional<double> top5 = {};      // 0..1
  std::optional<double> bleu = {};      // 0..100
  bool operator==(const ValidationResult&) const = default;
};

// How far a training has come. Together with the tensors it is all that is needed to continue:
// which samples come next, and every random number, follow from `step` and the config's seed.
struct Progress {
  std::int64_t step = 0;                 // mini-batches trained; the 0-based number of the next
  std::int64_t skipped = 0;              // how many of those updates were skipped as not finite
  double seconds = 0;                    // of training, over all starts
  std::optional<ValidationResult> last;  // latest validation
  std::optional<ValidationResult> best;  // by validation.metric
  std::int64_t without_progress = 0;     // validations since the best one
  bool operator==(const Progress&) const = default;
};

struct CheckpointFile {
  std::string name;  // within the checkpoint
  FileSum sum;
  std::vector<std::string> layers;  // whose tensors it holds, in order; empty for other files
  bool operator==(const CheckpointFile&) const = default;
};

struct DataSum {
  std::string what;         // the key that names the files: "data.train_images"
  std::uint64_t files = 0;  // how many the key names
  FileSum sum;              // bytes: of all files; run/data_sums.hpp says what the CRC covers
  bool operator==(const DataSum&) const = default;
};

struct DataSums {  // of the data that was trained on
  std::int64_t train_samples = 0, validation_samples = 0;
  std::vector<DataSum> files;
  bool operator==(const DataSums&) const = default;
};

struct Manifest {
  std::string model;  // the model's name
  std::uint64_t seed = 1;
  std::int64_t epoch = 0;  // epoch of the last mini-batch, from 1
  Progress progress;
  std::optional<DataSums> data;  // none: unknown
  std::vector<CheckpointFile> files;
  bool operator==(const Manifest&) const = default;
};

// The text includes its own checksum, so that a flipped bit in it is found.
std::string manifest_text(const Manifest& manifest);

// DataError, whose message begins with `file`, for anything that manifest_text() does not write.
Manifest parse_manifest(const std::string& text, const std::string& file);

}  // namespace pipetrain
