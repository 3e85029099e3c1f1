// How the step boards of a job's ranks communicate. Rank 0's board has the whole records and says
// how far mini-batches may begin; the others hand in to it, and ask it.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "runtime/step_board.hpp"
#include "transport/job.hpp"

namespace pipetrain {

struct BoardMessage {
  enum class Kind : std::int32_t { Ask, Grant, Sums, Finish, Hurry };
  Kind kind = Kind::Ask;
  std::int32_t stage = 0, copy = 0;  // Finish
  std::int32_t first_parameter = 0;  // Sums, which follow the message
  std::int64_t segment = 0;          // filled in by the link
  std::int64_t step = 0;             // Ask, Grant: mini-batches before this one may begin
  std::int64_t end = 0;              // Grant: of the segment
  double lr = 0;                     // Finish
  StageStep part = {};               // Finish
};

// One link for all segments of a pipeline; ranks run the same segments in the same order.
// Threading: begin() and end() from one thread, the rest from any.
class BoardLink {
 public:
  explicit BoardLink(Job& job);
  ~BoardLink();

  bool leads() const { return job_.leads(); }
  WireThread& wire_thread() const { return job_.wire_thread(); }
  void begin(StepBoard& board);  // the next segment's board, which hears messages from here on
  void end();                    // the board hears no more

  void to_leader(BoardMessage message, std::span<const double> sums = {}) const;
  void to_others(BoardMessage message, std::span<const double> sums = {}) const;

 private:
  struct Heard {
    BoardMessage message;
    std::vector<double> sums;
  };
  void hear(std::span<const std::byte> note);
  Note note_of(BoardMessage message, std::span<const double> sums) const;

  Job& job_;
  std::mutex mutex_;
  StepBoard* board_ = nullptr;
  std::int64_t segment_ = 0;
  std::vector<Heard> early_;  // for segments that this rank has not begun
};

}  // namespace pipetrain
