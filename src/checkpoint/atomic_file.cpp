#include "checkpoint/atomic_file.hpp"

#include <unistd.h>

#include "base/open_regular.hpp"

namespace pipetrain {

namespace {

// A rename would replace a device by a file, even /dev/null.
const std::filesystem::path& replaceable(const std::filesystem::path& path) {
  const Found found = find_file(path);
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

}  // namespace pipetrain
