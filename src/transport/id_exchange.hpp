// How processes agree on an opaque blob before they can talk: NCCL's ids, for one. One process
// gives it, the others take it. Unless a launcher provides another way, through files in a folder
// that all of them see.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace pipetrain {

// Threading: one thread at a time. Names are of letters, digits, '-', '_' and '.'.
class IdExchange {
 public:
  virtual ~IdExchange() = default;  // withdraws what it gave
  virtual void give(const std::string& name, std::span<const std::byte> blob) = 0;
  // Waits until it is given; DeviceError once that takes too long.
  virtual std::vector<std::byte> take(const std::string& name) = 0;
  virtual void withdraw(const std::string& name) noexcept = 0;  // all have taken it
};

struct FileExchangeOptions {
  std::filesystem::path folder;  // of all processes; made if it is not there
  // Every start of a run has its own, the same in all of its processes: what a file of an earlier
  // start says is not taken.
  std::string run;
  double seconds_max = 60;  // that take() waits
};

std::unique_ptr<IdExchange> make_file_exchange(const FileExchangeOptions& options);

}  // namespace pipetrain
