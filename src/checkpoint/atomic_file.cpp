#include "checkpoint/atomic_file.hpp"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/open_regular.hpp"

namespace pipetrain {

namespace {

// A rename would replace a device by a file, even /dev/null.
const std::filesystem::path& replaceable(const std::filesystem::path& path) {
  const Found found = find_file(path);
  if (found.kind == FileKind::Folder)
    throw DeviceError(fmt::format(
        "{}: cannot be replaced: it is a folder; name another file, or move the folder away",
        path.string()));
  const std::string why = found.problem.empty() ? why_not_regular(found.kind) : found.problem;
  if (!why.empty()) fail_file(path, "replaced", why);
  return path;
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path)
    : path_(replaceable(path)), part_(path.string() + ".part"), out_(part_, path_) {}

AtomicFile::~AtomicFile() {
  if (!renamed_) ::unlink(part_.c_str());
}

void AtomicFile::commit() {
  out_.finish();
  if (::rename(part_.c_str(), path_.c_str()) != 0) fail_file(path_, "renamed into place");
  renamed_ = true;
  flush_folder(path_.parent_path(), path_);
}

void write_file(const std::filesystem::path& file, const std::string& text) {
  AtomicFile out(file);
  out.write(text.data(), text.size());
  out.commit();
}

void check_output_file(const std::filesystem::path& file) {
  if (find_file(file).kind == FileKind::Folder)
    throw UsageError(fmt::format("{} is a folder; name a file with --output", file.string()));
  const AtomicFile tried(file);
}

}  // namespace pipetrain
