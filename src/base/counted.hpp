// "1 stage", "4 stages": a number with its noun.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pipetrain {

// The noun is given in the singular and takes an s, or es after ch.
inline std::string counted(std::int64_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) +
         (number == 1            ? ""
          : noun.ends_with("ch") ? "es"
                                 : "s");
}

}  // namespace pipetrain
