#include "app/rank_identity.hpp"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "backend/cpu/onednn_info.hpp"
#include "base/error.hpp"
#include "base/input_file.hpp"
#include "config/read.hpp"
#include "metrics/crc32c.hpp"

namespace pipetrain {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string binary_sum() {
  constexpr std::uint64_t most = std::uint64_t{1} << 32;
  return fmt::format("{:08x}", crc32c(read_whole_file("/proc/self/exe", most)));
}

// The host, then one line for each thing that must be equal, beginning with its name.
std::string identity(const Config& config, const DataFacts& data) {
  std::string text = fmt::format(
      "{}\nbinary {}\ninstruction set {}\ndata: steps an epoch {}\ndata: steps {}\n"
      "data: mini-batches of a validation {}\n",
      host_name(), binary_sum(), cpu::onednn_instructions(), data.length.steps_per_epoch,
      data.length.steps, data.validation_steps);
  std::istringstream lines(dump_config(config, false));
  std::string table;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('['))
      table = line;
    else if (!line.empty())
      text += fmt::format("config: {} {}\n", table, line);
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  return all;
}

void require_same(int rank, const std::vector<std::string>& mine,
                  const std::vector<std::string>& theirs) {
  for (std::size_t i = 1; i < std::max(mine.size(), theirs.size()); ++i) {
    const std::string here = i < mine.size() ? mine[i] : "(nothing)",
                      there = i < theirs.size() ? theirs[i] : "(nothing)";
    if (here == there) continue;
    throw UsageError(
        fmt::format("rank {} on {} differs from rank 0 on {}: it has `{}`, rank 0 has `{}`; start "
                    "all ranks with one binary, one config and the same data",
                    rank, theirs.empty() ? "unknown" : theirs[0], mine[0], there, here));
  }
}

}  // namespace

void compare_ranks(Job& job, const Config& config, const DataFacts& data) {
  const std::string mine = identity(config, data);
  if (!job.leads()) {
    Note note(mine.size());
    std::memcpy(note.data(), mine.data(), mine.size());
    job.notes().send(0, Topic::Identity, std::move(note));
    return;
  }
  for (int rank = 1; rank < job.size(); ++rank) {
    const Note note = job.notes().take(Topic::Identity, rank);
    require_same(rank, lines_of(mine),
                 lines_of({reinterpret_cast<const char*>(note.data()), note.size()}));
  }
}

}  // namespace pipetrain
