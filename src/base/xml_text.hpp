// Text between the tags of a picture (SVG).
#pragma once

#include <string>
#include <string_view>

namespace pipetrain {

// Escapes printable text (base/printable.hpp) for use in an element or between double quotes.
inline std::string xml_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

}  // namespace pipetrain
