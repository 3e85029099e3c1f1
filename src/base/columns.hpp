// Text in columns, for the lists that verbs print.
#pragma once

#include <string>
#include <vector>

namespace pipetrain {

// Rows of equal length; every column but the last is as wide as its widest cell.
std::string columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace pipetrain
