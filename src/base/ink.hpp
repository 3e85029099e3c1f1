// Text in the colours of a terminal: the sequences of "select graphic rendition" (ECMA-48,
// 8.3.117). They name the terminal's own eight colours, which its user has chosen to be legible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pipetrain {

enum class Ink : std::uint8_t { Plain, Red, Green, Yellow, Blue, Magenta };

std::string inked(std::string_view text, Ink ink);  // the text after it is plain again

// `when` is "always", "never", or "auto": a terminal that is not "dumb" (TERM), if NO_COLOR is not
// set (no-color.org).
bool takes_colour(std::string_view when, int descriptor);

}  // namespace pipetrain
