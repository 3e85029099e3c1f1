#include "base/ink.hpp"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cstdlib>

namespace pipetrain {
namespace {

// The foreground colour's number, of which black is 30.
int foreground(Ink ink) {
  switch (ink) {
    case Ink::Red:
      return 31;
    case Ink::Green:
      return 32;
    case Ink::Yellow:
      return 33;
    case Ink::Blue:
      return 34;
    case Ink::Magenta:
      return 35;
    case Ink::Plain:
      break;
  }
  return 39;
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool is_dumb() {
  const char* term = std::getenv("TERM");
  return term == nullptr || std::string_view(term) == "dumb";
}

}  // namespace

std::string inked(std::string_view text, Ink ink) {
  if (ink == Ink::Plain || text.empty()) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", foreground(ink), text);
}

bool takes_colour(std::string_view when, int descriptor) {
  if (when != "auto") return when == "always";
  return !is_set("NO_COLOR") && !is_dumb() && ::isatty(descriptor) != 0;
}

}  // namespace pipetrain
