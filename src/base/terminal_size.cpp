#include "base/terminal_size.hpp"

#include <sys/ioctl.h>

namespace pipetrain {

TerminalSize terminal_size(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0) return {};
  return {size.ws_row, size.ws_col};
}

}  // namespace pipetrain
