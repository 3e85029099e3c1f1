// Text from files, made safe to print in a message: names of tensors, keys, cells, folders.
#pragma once

#include <string>
#include <string_view>

namespace pipetrain {

// Control characters, and those that reorder or break a line, become "\n" or "\u001b"; bytes that
// are not UTF-8 become "\xff". Everything else stays as it is, so printable text comes back
// unchanged.
std::string printable(std::string_view text);

}  // namespace pipetrain
