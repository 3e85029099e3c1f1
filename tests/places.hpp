// Where tests find files of the source tree, and the binary: what PIPETRAIN_SOURCE and
// PIPETRAIN_BINARY name; without them, what the test program was built from and with.
#pragma once

#include <filesystem>

std::filesystem::path source_tree();
std::filesystem::path built_binary();
// Files that are too large for a repository: the folder that PIPETRAIN_EXTRAS names. It may be
// missing.
std::filesystem::path extras();
