// Lines for readers who stop reading: nothing waits, nothing is torn, what is dropped is counted.
#include "base/line_output.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <thread>

#include "base/error.hpp"
#include "catch.hpp"

using namespace pipetrain;
using std::chrono::milliseconds;

namespace {

struct Ends {  // what is written to `in` comes out of `out`
  int out = -1, in = -1;
  Ends(int reading, int writing) : out(reading), in(writing) {
    std::signal(SIGPIPE, SIG_IGN);
    REQUIRE(::fcntl(out, F_SETFL, O_NONBLOCK) == 0);
  }
  ~Ends() {
    ::close(out);
    ::close(in);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  std::string read() const {  // all that is available now
    std::string text;
    char part[4096];
    for (ssize_t n; (n = ::read(out, part, sizeof part)) > 0;)
      text.append(part, static_cast<std::size_t>(n));
    return text;
  }
};

Ends small_pipe() {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  REQUIRE(::fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
  return {ends[0], ends[1]};
}

Ends socket_pair() {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  return {ends[0], ends[1]};
}

// A bare chroot has none: a test that needs one is skipped there, and says so.
bool has_terminals() {
  const int reader = ::posix_openpt(O_RDWR | O_NOCTTY);
  const int writer = reader >= 0 && ::grantpt(reader) == 0 && ::unlockpt(reader) == 0
                         ? ::open(::ptsname(reader), O_RDWR | O_NOCTTY)
                         : -1;
  if (reader >= 0) ::close(reader);
  if (writer < 0) {
    WARN("skipped: this system has no pseudo-terminals");
    return false;
  }
  ::close(writer);
  return true;
}

Ends terminal() {
  const int reader = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(reader >= 0);
  REQUIRE(::grantpt(reader) == 0);
  REQUIRE(::unlockpt(reader) == 0);
  const int writer = ::open(::ptsname(reader), O_RDWR | O_NOCTTY);
  REQUIRE(writer >= 0);
  termios mode{};
  REQUIRE(::tcgetattr(writer, &mode) == 0);
  mode.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // a line's end stays one character
  REQUIRE(::tcsetattr(writer, TCSANOW, &mode) == 0);
  return {reader, writer};
}

std::string numbered(int line) {
  return "line " + std::to_string(line) + std::string(90, '.') + "\n";
}

std::string numbered(int first, int end) {
  std::string text;
  for (int line = first; line < end; ++line) text += numbered(line);
  return text;
}

// Flushes and reads until nothing is left.
std::string all_of(LineOutput& output, const Ends& ends) {
  std::string text;
  for (bool done = false; !done;) {
    done = output.flush();
    text += ends.read();
  }
  return text;
}

}  // namespace

TEST_CASE("lines go straight to a reader, and the descriptor keeps its flags", "[base]") {
  const Ends ends = small_pipe();
  LineOutput output(ends.in, "standard output");
  output.write("one\n");
  CHECK(ends.read() == "one\n");
  output.keep("two\n");
  CHECK(ends.read() == "two\n");
  CHECK((::fcntl(ends.in, F_GETFL) & O_NONBLOCK) == 0);
  CHECK(output.flush());
  CHECK(output.dropped_lines() == 0);
}

TEST_CASE("a full pipe, socket or terminal delays nothing and loses no line", "[base]") {
  const auto make = GENERATE(&small_pipe, &socket_pair, &terminal);
  if (make == &terminal && !has_terminals()) return;
  const Ends ends = make();
  LineOutput output(ends.in, "standard output");
  int line = 0;
  for (; output.flush(); ++line) output.write(numbered(line));  // until the reader takes no more
  REQUIRE(line > 1);
  for (const int end = line + 400; line < end; ++line) output.write(numbered(line));
  CHECK_FALSE(output.flush());
  CHECK((all_of(output, ends) == numbered(0, line)));
  CHECK(output.dropped_lines() == 0);
}

TEST_CASE("beyond the backlog lines are dropped and counted, and one line says so", "[base]") {
  const Ends ends = small_pipe();
  LineOutput output(ends.in, "standard output");
  for (int line = 0; line < 1000; ++line) output.write(numbered(line));
  const auto dropped = static_cast<int>(output.dropped_lines());
  CHECK(dropped > 200);
  CHECK(dropped < 400);  // 64 KiB and a pipe of 4 hold about 700 lines
  std::string text = ends.read();
  output.write("the backlog has room again, but this would be out of order\n");
  CHECK(output.dropped_lines() == dropped + 1);
  text += all_of(output, ends);
  output.write("later\n");
  text += ends.read();
  const std::string notice = "lines dropped here because nobody read standard output: ";
  CHECK((text == numbered(0, 1000 - dropped) + notice + std::to_string(dropped + 1) + "\nlater\n"));
}

TEST_CASE("a line that must be kept comes after the count of those dropped before it", "[base]") {
  const Ends ends = small_pipe();
  LineOutput output(ends.in, "standard output");
  for (int line = 0; line < 1000; ++line) output.write(numbered(line));
  const std::string last = std::string(3 * LineOutput::backlog_bytes, 'x') + "\n";
  output.keep(last);
  const std::string text = all_of(output, ends);
  const std::string notice = std::to_string(output.dropped_lines()) + "\n";
  REQUIRE(text.size() > last.size() + notice.size());
  CHECK((text.substr(text.size() - last.size() - notice.size()) == notice + last));
}

TEST_CASE("a long line that was written in part is finished before any other begins", "[base]") {
  const Ends ends = small_pipe();
  LineOutput output(ends.in, "standard output");
  const std::string line = std::string(20000, 'a') + "\n";
  output.write(line);
  output.write("next\n");
  CHECK((all_of(output, ends) == line + "next\n"));
}

TEST_CASE("a pipe takes whole lines, so that another writer's come between them", "[base]") {
  const Ends ends = small_pipe();
  LineOutput output(ends.in, "standard output");
  for (int line = 0; line < 300; ++line) output.write(numbered(line));
  std::string text;
  for (bool done = false; !done;) {
    text += ends.read();
    CHECK(text.back() == '\n');
    done = output.flush();
  }
  CHECK((text + ends.read() == numbered(0, 300)));
}

TEST_CASE("a pipe that cannot be opened again is polled before each write", "[base]") {
  const Ends ends = small_pipe();
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{3, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  LineOutput output(ends.in, "standard output");
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  for (int line = 0; line < 300; ++line) output.write(numbered(line));
  CHECK_FALSE(output.flush());
  CHECK((all_of(output, ends) == numbered(0, 300)));
}

TEST_CASE("a terminal that is stopped delays nothing", "[base]") {
  if (!has_terminals()) return;
  const Ends ends = terminal();
  LineOutput output(ends.in, "standard output");
  REQUIRE(::tcflow(ends.in, TCOOFF) == 0);  // what Ctrl-S does
  output.write("one\n");
  CHECK_FALSE(output.flush());
  CHECK(ends.read().empty());
  REQUIRE(::tcflow(ends.in, TCOON) == 0);
  CHECK(output.flush());
  CHECK(ends.read() == "one\n");
}

TEST_CASE("a reader that has gone is not an error", "[base]") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::signal(SIGPIPE, SIG_IGN);
  LineOutput output(ends[1], "standard output");
  ::close(ends[0]);
  LineOutput late(ends[1], "standard output");  // never had a reader
  for (LineOutput* const each : {&output, &late}) {
    CHECK_NOTHROW(each->write("one\n"));
    CHECK_NOTHROW(each->keep("two\n"));
    CHECK(each->flush());
    each->finish(LineOutput::without_end);
    CHECK(each->dropped_lines() == 0);
  }
  ::close(ends[1]);
}

TEST_CASE("a terminal that was closed counts as a reader that has gone", "[base]") {
  if (!has_terminals()) return;
  Ends ends = terminal();
  LineOutput output(ends.in, "standard output");
  REQUIRE(::close(ends.out) == 0);
  ends.out = -1;
  LineOutput late(ends.in, "standard output");
  CHECK_NOTHROW(output.write("one\n"));
  CHECK_NOTHROW(late.keep("two\n"));
  CHECK(output.flush());
  CHECK(late.flush());
}

TEST_CASE("a file is written as always, in place", "[base]") {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  REQUIRE(::write(fileno(file), "before\n", 7) == 7);
  LineOutput output(fileno(file), "standard output");
  const std::string text = numbered(0, 2000);
  output.write(text);
  REQUIRE(::lseek(fileno(file), 0, SEEK_CUR) == static_cast<off_t>(7 + text.size()));
  std::fclose(file);
}

TEST_CASE("a full disk is an error at each write", "[base]") {
  const int full = ::open("/dev/full", O_WRONLY);
  if (full < 0) {
    WARN("skipped: this system has no /dev/full");
    return;
  }
  LineOutput output(full, "standard output");
  for (int i = 0; i < 2; ++i) {
    try {
      output.write("one\n");
      FAIL("a full disk went unnoticed");
    } catch (const DeviceError& error) {
      CHECK(std::string(error.what()).find("standard output cannot be written: No space left") ==
            0);
    }
  }
  output.finish(LineOutput::without_end);
  ::close(full);
}

TEST_CASE("the end waits for the reader, for as long as it was asked to", "[base]") {
  const Ends ends = small_pipe();
  LineOutput output(ends.in, "standard output");
  for (int line = 0; line < 500; ++line) output.write(numbered(line));
  output.finish(milliseconds(20));
  CHECK_FALSE(output.flush());
  std::string text;
  const std::size_t size = numbered(0, 500).size();
  std::thread reader([&] {
    while (text.size() < size) {
      std::this_thread::sleep_for(milliseconds(1));
      text += ends.read();
    }
  });
  output.finish(LineOutput::without_end);
  reader.join();
  CHECK((text == numbered(0, 500)));
}

TEST_CASE("a wait at the end is over when the reader goes", "[base]") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::signal(SIGPIPE, SIG_IGN);
  LineOutput output(ends[1], "standard output");
  output.keep(std::string(200000, 'x'));
  CHECK_FALSE(output.flush());
  std::thread reader([&] {
    std::this_thread::sleep_for(milliseconds(20));
    ::close(ends[0]);
  });
  output.finish(LineOutput::without_end);
  reader.join();
  CHECK(output.flush());
  ::close(ends[1]);
}

TEST_CASE("two descriptors of one pipe have the same reader, two of a file do not", "[base]") {
  const Ends one = small_pipe(), other = small_pipe();
  const int copy = ::dup(one.in), file = ::open("/dev/null", O_WRONLY);
  CHECK(LineOutput(one.in, "standard output").same_reader(copy));
  CHECK_FALSE(LineOutput(one.in, "standard output").same_reader(other.in));
  CHECK_FALSE(LineOutput(file, "standard output").same_reader(file));
  ::close(copy);
  ::close(file);
}
