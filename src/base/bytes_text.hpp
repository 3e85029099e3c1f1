// Byte counts as text for people.
#pragma once

#include <cstddef>
#include <string>

namespace pipetrain {

std::string bytes_text(std::size_t bytes);  // "3.1 MiB"

}  // namespace pipetrain
