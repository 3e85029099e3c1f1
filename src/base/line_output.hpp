// Lines for a reader who may stop reading: a pager that waits for a key, a terminal after Ctrl-S, a
// log collector that hangs. None of them may delay training, so nothing here waits for one except
// `finish`.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace pipetrain {

// Writes to a descriptor that stays open and keeps its flags, which belong to the shell too. What a
// pipe, a terminal or a socket does not take at once is kept in a backlog, and any later call
// writes that first. When the backlog is full, further text is dropped and its lines are counted;
// once the reader has taken the rest, one line reports how many. A reader that has gone (`| head`,
// a closed terminal) is not an error: its text is discarded. Files are written as usual. Any thread
// may use it; SIGPIPE must be ignored.
class LineOutput {
 public:
  static constexpr std::size_t backlog_bytes = std::size_t{64} << 10;
  static constexpr std::chrono::milliseconds without_end{-1};

  LineOutput(int descriptor, std::string name);  // "standard output", for messages
  ~LineOutput();
  LineOutput(const LineOutput&) = delete;
  LineOutput& operator=(const LineOutput&) = delete;

  // These three throw a DeviceError if a file cannot be written (a full disk).
  void write(std::string_view text);  // whole lines, or a terminal's bar: written, kept or dropped
  void keep(std::string_view text);   // never dropped, however long
  bool flush();                       // true: nothing is left to write

  // Waits until the reader has taken everything or has gone, for at most `most`.
  void finish(std::chrono::milliseconds most) noexcept;

  std::int64_t dropped_lines() const;
  bool same_reader(int descriptor) const;  // both lead to one pipe, terminal or socket

 private:
  enum class Kind { File, Reopened, Socket, Asked };  // what keeps a write from waiting

  void advance();
  void report_dropped();
  std::int64_t write_some(std::string_view piece) const;
  std::size_t left() const;

  int descriptor_;
  std::string name_;
  int reopened_ = -1;
  Kind kind_ = Kind::File;
  mutable std::mutex mutex_;  // guards all below
  std::string backlog_;       // begins with the rest of a line that is written in part
  std::int64_t dropped_ = 0, unreported_ = 0;  // lines
  bool gone_ = false;
};

// Those of this process: one object if both lead to the same reader, so that lines stay in order.
LineOutput& standard_output();
LineOutput& standard_error();

}  // namespace pipetrain
