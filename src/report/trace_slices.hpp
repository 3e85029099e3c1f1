// What a run's trace.json says, for a picture of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pipetrain {

enum class SliceKind { Forward, Backward, Update, Transfer, Waiting };

struct TraceSlice {
  int stage = 0;
  SliceKind kind = SliceKind::Forward;
  std::string name = {};                     // "F0", as in the trace
  std::int64_t step = 0;                     // from 1
  double begin = 0, length = 0;              // microseconds
  std::optional<std::int64_t> version = {};  // of the weights that it reads
};

struct TraceSlices {
  std::vector<TraceSlice> slices;              // of the first traced steps, in trace order
  std::int64_t first_step = 0, last_step = 0;  // of the steps shown
  std::string problem;  // why there are no slices, as a sentence for the page; otherwise empty
};

// At least one step, and further ones as long as there are at most `most` slices.
TraceSlices read_trace(const std::filesystem::path& file, std::size_t most = 1500);

}  // namespace pipetrain
