// What can go wrong outside our own code. Each type has one exit code; `main` alone prints and
// exits. A message says what is wrong, where (`file:line:column`), and what to do next.
#pragma once

#include <stdexcept>
#include <string>

namespace pipetrain {

enum class ExitCode {
  Done = 0,
  Usage = 2,
  Data = 3,
  Device = 4,
  Diverged = 5,
  Bug = 70,  // ours: no Error has it, unless another rank met the bug
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// The command line or a config is wrong; nothing was written.
struct UsageError : Error {
  explicit UsageError(const std::string& message) : Error(ExitCode::Usage, message) {}
};
// A data file, weights or a checkpoint cannot be read.
struct DataError : Error {
  explicit DataError(const std::string& message) : Error(ExitCode::Data, message) {}
};
// A device, a peer or the disk failed.
struct DeviceError : Error {
  explicit DeviceError(const std::string& message) : Error(ExitCode::Device, message) {}
};
// The loss or a gradient is not finite, and the config says to stop then.
struct DivergedError : Error {
  explicit DivergedError(const std::string& message) : Error(ExitCode::Diverged, message) {}
};

}  // namespace pipetrain
