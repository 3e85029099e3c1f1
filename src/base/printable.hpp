// Text from files, safe to print in a message: names of tensors, keys, cells, folders.
#pragma once

#include <string>
#include <string_view>

namespace pipetrain {

// Control characters, and those that reorder or break a line, as "\n" or "\u001b"; bytes that are
// no UTF-8 as "\xff". Everything else stays as it is, so printable text comes back unchanged.
std::string printable(std::string_view text);

}  // namespace pipetrain
