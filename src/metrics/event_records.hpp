// The contents of a TensorBoard event file (events.out.tfevents.*). Uses no library: only three
// messages with a handful of fields are written.
//
//   file     record*
//   record   length: u64 | masked CRC-32C of the length: u32 | message | masked CRC-32C of it: u32
//   message  protobuf: Event   { 1: wall_time double, 2: step int64,
//                                one of 3: file_version string, 5: Summary, 7: SessionLog }
//                      Summary { 1: Value*, each { 1: tag string, 2: simple_value float } }
//                      SessionLog { 1: status, START = 1 }
// Numbers are little-endian; the length or either checksum shows that a record is torn.
//
// Training also reads these files: a resumed run takes over the records up to its checkpoint, whose
// wall times are stored nowhere else (metrics/tensorboard.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipetrain {

struct Scalar {
  std::string tag;
  double value = 0;  // stored as a float
};

struct ScalarEvent {
  double wall_time = 0;  // seconds since 1970
  std::int64_t step = 0;
  std::vector<Scalar> scalars;
};

// Each returns a whole record.
std::string version_record(double wall_time);  // the first in every file
// Makes a reader forget what it has read so far, in earlier files too, of this step and later ones.
std::string restart_record(double wall_time, std::int64_t step);
std::string scalar_record(const ScalarEvent& event);

// The record at the front of `bytes`, or nothing if it is torn or damaged.
struct Record {
  std::string_view whole;    // including its frame
  std::int64_t step = 0;     // of its event
  bool has_scalars = false;  // a Summary
};
std::optional<Record> first_record(std::string_view bytes);

}  // namespace pipetrain
