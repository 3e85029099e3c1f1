#include "base/ink.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "catch.hpp"

using namespace pipetrain;

TEST_CASE("after inked text the ink is plain again") {
  CHECK(inked("F0", Ink::Blue) == "\033[34mF0\033[0m");
  CHECK(inked("F0", Ink::Plain) == "F0");
  CHECK(inked("", Ink::Red).empty());
}

TEST_CASE("a pipe takes colours only if they are asked for") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  CHECK(takes_colour("always", ends[1]));
  CHECK_FALSE(takes_colour("auto", ends[1]));
  CHECK_FALSE(takes_colour("never", ends[1]));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("a terminal takes colours unless it is dumb or NO_COLOR is set") {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) {
    WARN("skipped: no terminal can be made here");
    return;
  }
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  CHECK(takes_colour("auto", terminal));
  CHECK_FALSE(takes_colour("never", terminal));
  ::setenv("NO_COLOR", "1", 1);
  CHECK_FALSE(takes_colour("auto", terminal));
  ::setenv("NO_COLOR", "", 1);  // as if it were not set
  CHECK(takes_colour("auto", terminal));
  ::setenv("TERM", "dumb", 1);
  CHECK_FALSE(takes_colour("auto", terminal));
  ::close(terminal);
}
