#include "base/failure.hpp"

#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <new>
#include <system_error>

#include "base/check.hpp"
#include "base/process_limits.hpp"

namespace pipetrain {

Failure failure_of(const std::exception& error) {
  if (const auto* const ours = dynamic_cast<const Error*>(&error))
    return {ours->what(), ours->code()};
  if (const auto* const file = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return {fmt::format("{}: {}; check the path and its permissions", file->path1().string(),
                        file->code().message()),
            ExitCode::Device};
  if (dynamic_cast<const std::system_error*>(&error))
    return {fmt::format("pipetrain: a system call failed: {}", error.what()), ExitCode::Device};
  if (dynamic_cast<const std::bad_alloc*>(&error))
    return {fmt::format("pipetrain: out of memory{}; use smaller mini-batches, more micro-batches "
                        "or fewer samples (generate: a smaller --batch or --beam)",
                        limits_text()),
            ExitCode::Device};
  if (dynamic_cast<const InternalError*>(&error)) return {error.what(), ExitCode::Bug};
  return {fmt::format("pipetrain: a bug in pipetrain: {}", error.what()), ExitCode::Bug};
}

}  // namespace pipetrain
