// A folder as data, which an input's bytes change before it is written: what a copy that went
// wrong, or one that was made up, may look like.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace pipetrain::fuzz {

struct Entry {
  enum class Kind { File, Folder, Pipe, Link };
  Kind kind = Kind::File;
  std::string content;  // of a file
  std::string target;   // of a link
};
using Entries = std::map<std::string, Entry>;  // by name

Entries entries_of(const std::filesystem::path& folder);  // of regular files only

// Each instruction is what to do, to which entry (both as a number modulo how many there are) and
// its numbers and bytes, 0 past the end: changed_folder.cpp lists them. At most 16.
void change(Entries& entries, std::string_view instructions);

// Into an empty folder.
void write_entries(const Entries& entries, const std::filesystem::path& folder);

}  // namespace pipetrain::fuzz
