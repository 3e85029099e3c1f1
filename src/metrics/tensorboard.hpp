// The event file of a run, as TensorBoard reads it: the numbers of metrics.jsonl as scalars.
//
//   train/loss, lr, grad_norm, samples_per_second, bubble, ...   for each step
//   stage_0/busy, waiting, memory_bytes, weight_versions, staleness, and so on for each stage
//   validation/loss, accuracy, top5, ...                         for each validation
//
// A start that resumes from step n writes a new file: an instruction to forget what was read before
// (a TensorBoard that watches the folder has read the old file), the old file's records up to step
// n, then the new steps. The old file is removed. So no reader ever shows a step twice.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "metrics/append_file.hpp"
#include "metrics/event_records.hpp"

namespace pipetrain {

class TensorBoardFile {
 public:
  // In `folder`; of existing event files, only records of steps up to `keep_steps` are kept.
  TensorBoardFile(const std::filesystem::path& folder, std::int64_t keep_steps);

  // An event as in metrics.jsonl; ignores those that are neither steps nor validations.
  void write(const nlohmann::ordered_json& event);
  void flush() const { file_.flush(); }
  void close() { file_.close(); }

  struct Begun {
    std::filesystem::path path;
    std::size_t bytes = 0;
  };

 private:
  explicit TensorBoardFile(const Begun& begun);

  AppendFile file_;
};

std::vector<std::filesystem::path> event_files(const std::filesystem::path& folder);  // by age
void remove_event_files(const std::filesystem::path& folder);

// The numbers of a "step" or "validation" event, with their tags.
std::vector<Scalar> scalars_of(const nlohmann::ordered_json& event);

}  // namespace pipetrain
