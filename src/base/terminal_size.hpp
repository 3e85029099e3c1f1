// How much text a terminal shows.
#pragma once

namespace pipetrain {

struct TerminalSize {
  int rows = 0, columns = 0;  // 0: unknown, or not a terminal
};

TerminalSize terminal_size(int descriptor);

}  // namespace pipetrain
