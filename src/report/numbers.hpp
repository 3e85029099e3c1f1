// Numbers in the form that a reader of a report expects.
#pragma once

#include <cstdint>
#include <string>

namespace pipetrain {

std::string count_text(std::int64_t count);  // "61,706"
std::string share_text(double share);        // 0.853: "85.3%"
std::string seconds_text(double seconds);    // "0.52 s", "48.3 s", "12 min 5 s", "3 h 20 min"
std::string coordinate(double value);        // for a picture: to a tenth of a point

}  // namespace pipetrain
