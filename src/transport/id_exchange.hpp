// How processes agree on an opaque blob, such as NCCL's ids, before they can talk to each other.
// One process gives it, the others take it: through files in a folder that all of them see, unless
// a launcher provides another way.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace pipetrain {

// Threading: one thread at a time. Names consist of letters, digits, '-', '_' and '.'.
class IdExchange {
 public:
  virtual ~IdExchange() = default;  // withdraws what it gave
  virtual void give(const std::string& name, std::span<const std::byte> blob) = 0;
  // Waits until the blob is given; DeviceError after too long.
  virtual std::vector<std::byte> take(const std::string& name) = 0;
  virtual void withdraw(const std::string& name) noexcept = 0;  // call when all have taken it
};

struct FileExchangeOptions {
  std::filesystem::path folder;  // shared by all processes; created if missing
  // Unique to one start of the run, and the same in all of its processes: files of an earlier start
  // are ignored.
  std::string run;
  double seconds_max = 60;  // for take() to wait
};

std::unique_ptr<IdExchange> make_file_exchange(const FileExchangeOptions& options);

}  // namespace pipetrain
