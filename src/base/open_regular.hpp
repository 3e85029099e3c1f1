// The one way to open a file that a user named, to read or to write it: regular files only, and
// without waiting. A pipe would hold up the thread that opens it; a device may have no end.
#pragma once

#include <filesystem>
#include <string>

namespace pipetrain {

enum class FileKind { None, Regular, Folder, Other };

struct Found {
  FileKind kind = FileKind::None;
  std::string problem;  // where the system cannot say: no permission, too long a name, a ring of
                        // links; then `kind` is None
  int error = 0;        // errno of the problem
};
// What has this name, after following links.
Found find_file(const std::filesystem::path& path);

// "it is a folder"; empty for a regular file and where there is nothing.
std::string why_not_regular(FileKind kind);

struct Opened {
  int descriptor = -1;  // the caller closes it; -1: not opened
  std::string problem;  // why, in words that fit after "cannot be read: "
  int error = 0;        // errno of the problem; 0 where the system had no objection
};
// `flags` are those of open(2). A new file can be read by everyone and written by its owner.
Opened open_regular(const std::filesystem::path& file, int flags);

}  // namespace pipetrain
